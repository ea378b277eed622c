"""What a session has used, where a result tells sums of what its messages tell piece by piece.

In print mode messages may tell nothing of tokens, or only how they began. A result tells the usage
of its turn, and the cost and each model's usage of the whole process, be it one turn or several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.claude.records import input_tokens
from lastsignal.core.aliases.fields import amount_of, count_of, mapping_of
from lastsignal.core.aliases.session_runs import Run
from lastsignal.core.events import Event


class Spent(msgspec.Struct):
    """What has been told of one session; costs in US dollars."""

    turn: tuple[int, int] = (0, 0)
    """Tokens read and written, by the messages since the last result."""
    told: tuple[int, int] = (0, 0)
    """By all messages, and by results on top of them."""
    cost: float = 0.0
    """By the last result."""
    written: int = 0
    """Tokens that all models had written, by the last result."""

    def note(self, events: list[Event]) -> None:
        """Note what messages tell."""
        for event in events:
            if event.event_type == "model_call":
                used = (event.input_tokens or 0, event.output_tokens or 0)
                self.turn, self.told = _plus(self.turn, used), _plus(self.told, used)

    def settle(
        self, run: Run, total: float | None, usage: object, models: object
    ) -> tuple[list[Event], float | None]:
        """Return what a result tells on top of the messages of its turn, and the turn's cost.

        A session that another process goes on with begins anew: its models have not written what
        they had before, and what this turn has.
        """
        said = (input_tokens(usage) or 0, count_of(mapping_of(usage).get("output_tokens")) or 0)
        written = _written_by(models)
        has_shrunk = total is not None and total < self.cost
        if has_shrunk or 0 < written < self.written + said[1]:
            self.told, self.cost = self.turn, 0.0
        rest = tuple(
            max(0, min(one - turn, one - told))  # should it be a sum of all turns, after all
            for one, turn, told in zip(said, self.turn, self.told, strict=True)
        )
        self.turn, self.told, self.written = (0, 0), _plus(self.told, rest), written
        cost = None if total is None else amount_of(total - self.cost)
        self.cost = self.cost if total is None else total
        return _usage(run, *rest), cost


def _usage(run: Run, read: int, written: int) -> list[Event]:
    if not (read or written):
        return []
    rest = run.event(event_type="audit", operation="usage", status="completed")
    rest.input_tokens, rest.output_tokens = read or None, written or None
    return [rest]


def _plus(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _written_by(models: object) -> int:
    used: Mapping[str, Any] = mapping_of(models)
    return sum(count_of(mapping_of(one).get("outputTokens")) or 0 for one in used.values())
