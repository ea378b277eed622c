"""The run that an OpenHands event belongs to: a conversation's turn.

Events lie in a folder of the conversation, one file each, or one after another in one file. In a
folder each file is a source of its own, which cannot know what the others told.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, remember
from lastsignal.core.events import USED_SO_FAR, Event, Status
from lastsignal.core.timestamps import time_of

AGENT = "OpenHands"
_PLACE = re.compile(r"(?:^|/)([^/]+)/(?:events/(?:event-)?\d+[^/]*|base_state)\.json$")


class ConversationState(msgspec.Struct):
    """What later events depend on."""

    open: dict[str, float] = {}
    seen: dict[str, bool] = {}
    """Model calls and tool calls that have events already."""
    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    """Sums that were told last: what a call used is the difference."""
    has_failed: bool = False
    """Whether the open turn's failure has an event: its end only repeats it."""
    logs_calls: bool = False
    """Whether records of single calls tell what each used."""


class Conversation:
    """Makes events of one conversation."""

    def __init__(self, source: str, trace_id: str = "") -> None:
        found = _PLACE.search(source.replace("\\", "/"))
        self.state = ConversationState()
        self._trace_id = trace_id or (found[1] if found else "")
        self.is_folder = found is not None
        """Whether each event is a source of its own, so that nothing earlier is known."""

    def run_at(self, time: object) -> Run:
        """Return the turn at a record's time."""
        moment = time_of(time)
        return Run(self._trace_id, "turn", None, AGENT, moment)

    def is_new(self, key: str | None) -> bool:
        """Note a call's id; False where it was told before."""
        return key is None or remember(self.state.seen, key, True)

    def write_spending(self, event: Event, metrics: object) -> None:
        """Put on a model call what the conversation's sums have grown by."""
        state = self.state
        cost = amount_of(at(metrics, "accumulated_cost"))
        usage = at(metrics, "accumulated_token_usage")
        asked, answered = (
            count_of(at(usage, name)) for name in ("prompt_tokens", "completion_tokens")
        )
        if cost is not None:
            event.cost_usd, state.cost_usd = max(cost - state.cost_usd, 0.0), cost
        if asked is not None:
            event.input_tokens = max(asked - state.input_tokens, 0)
            state.input_tokens = asked
        if answered is not None:
            event.output_tokens = max(answered - state.output_tokens, 0)
            state.output_tokens = answered

    def spent(self, run: Run, stats: object) -> list[Event]:
        """Tell by what the conversation's sums have grown, of all uses of models together.

        In a folder nothing earlier is known: the sums are told as they are. Where each call's own
        record is told they repeat.
        """
        if self.state.logs_calls:
            return []
        uses = list(mapping_of(at(stats, "usage_to_metrics")).values())
        costs = [amount_of(at(one, "accumulated_cost")) or 0.0 for one in uses]
        tokens = {
            name: sum(count_of(at(one, "accumulated_token_usage", name)) or 0 for one in uses)
            for name in ("prompt_tokens", "completion_tokens")
        }
        event = run.event(
            event_type="audit",
            operation=USED_SO_FAR if self.is_folder else "usage",
            status="completed",
        )
        self.write_spending(
            event, {"accumulated_cost": sum(costs), "accumulated_token_usage": tokens}
        )
        told = event.cost_usd or event.input_tokens or event.output_tokens
        return [event] if told else []

    def begin(self, run: Run) -> list[Event]:
        """Begin the turn with the user's message."""
        self.state.has_failed = False
        if self.is_folder:
            return [run.boundary(event_type="agent_start", status="started")]
        return run.open(self.state.open)

    def go_on(self, run: Run) -> list[Event]:
        """Begin a turn that is not open: the file begins in its middle, or nobody had to ask."""
        return [] if self.is_folder else run.open(self.state.open)

    def close(
        self, run: Run, status: Status = "completed", error: ErrorFields = NO_ERROR, **fields: Any
    ) -> list[Event]:
        """End the turn; where earlier records could be seen, only one that is open."""
        if not self.is_folder:
            return run.close(self.state.open, status, error, **fields)
        end = run.boundary(event_type="agent_end", **fields)
        error.write(end, status)
        return [end]
