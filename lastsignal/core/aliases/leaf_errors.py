"""One cause, many error records: which of them is the failure, and which only passes it on.

An error travels up through everything that encloses the call, and each wrapper records it again.
A failure that has been told marks all that enclose it; a wrapper that fails with the same words
adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lastsignal.core.aliases.session_runs import replace


class ToldFailures(msgspec.Struct):
    """The failures of one source that have an event already."""

    below: dict[str, str] = {}
    """Wrapper → the last failure told of something inside it."""
    own: dict[str, str] = {}
    """Wrapper → the failure that was told as its own: documents may put parents first."""

    def tell(self, message: str | None, enclosing: Iterable[str]) -> None:
        """Note a failure's message for everything that encloses the call that failed."""
        for wrapper in enclosing:
            replace(self.below, wrapper, message or "")

    def tell_own(self, wrapper: str, message: str | None, enclosing: Iterable[str]) -> None:
        """Note that a wrapper's error is its own failure."""
        replace(self.own, wrapper, message or "")
        self.tell(message, enclosing)

    def is_passed_on(self, wrapper: str, message: str | None, enclosing: Iterable[str]) -> bool:
        """Whether a wrapper's error is that of a failure inside it, or was told further out."""
        below = self.below.get(wrapper)
        if below is not None and same_failure(below, message):
            return True
        told = (self.own.get(outer) for outer in enclosing)
        return any(outer is not None and same_failure(outer, message) for outer in told)

    def inside_step(self, enclosing: list[str]) -> str | None:
        """Return the last failure of what a step encloses, None for calls of the root itself.

        A step that tries one call again encloses nothing else; a root may enclose anything.
        """
        return self.below.get(enclosing[-1]) or None if len(enclosing) > 1 else None


def same_failure(one: str, other: str | None) -> bool:
    """Whether two messages tell one failure: a wrapper may put words of its own around it."""
    return not one or not other or one in other or other in one
