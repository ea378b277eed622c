"""CrewAI: the events of its bus, and the log that `output_log_file` writes."""

from __future__ import annotations

from lastsignal.core.aliases.crewai import event_bus, output_log

DIALECTS = (event_bus.DIALECT, output_log.DIALECT)
