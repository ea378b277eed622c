"""mas-lab: the stream of ObsEvents that its runtime writes to `traces/events.jsonl`."""

from __future__ import annotations

from lastsignal.core.aliases.maslab import events

DIALECTS = (events.DIALECT,)
