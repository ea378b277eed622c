"""Which crew, task, agent or call an event of CrewAI's bus belongs to.

Newer versions give every event an id, its parent's and, on an end, its start's. Older ones give
none: there an end closes the latest start of its kind, and all belongs to the crew that is open.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lastsignal.core.aliases.crewai.records import Record
from lastsignal.core.aliases.fields import text_of
from lastsignal.core.aliases.leaf_errors import ToldFailures
from lastsignal.core.aliases.session_runs import remember, replace

_TOLD_OF = frozenset({"crew", "agent", "model", "tool"})
_MAX_PARENTS = 64


class Scope(msgspec.Struct, array_like=True):
    """Something that has begun: what it is, and what encloses it, from the inside outwards."""

    what: str
    call_id: str
    operation: str | None
    trace_id: str
    parents: list[str]
    is_nested_tool: bool = False
    """A tool of an MCP server runs inside the usage of a tool that is the same call."""
    is_ended: bool = False


class ScopeState(msgspec.Struct):
    """What later events depend on."""

    scopes: dict[str, Scope] = {}
    latest: dict[str, str] = {}
    """Kind and name → the latest open start, for versions without ids."""
    root: str = ""
    """The crew or flow that began last: whose events come without a known parent."""
    roots: int = 0
    starts: int = 0
    failures: dict[str, str] = {}
    """Tool and arguments → the failure that has been told."""
    outcomes: dict[str, list[str]] = {}
    """Agent and task → the errors of the executions that failed so far."""
    told: ToldFailures = msgspec.field(default_factory=ToldFailures)
    models_speak: bool = False
    """Whether the model's class emits events of its own: then its failures are among them."""

    def open(self, line: Record, what: str, source: str) -> Scope:
        """Return the scope that a start opens."""
        parent = text_of(line.parent_event_id)
        event_id = text_of(line.event_id)
        if what in ("crew", "flow") and parent is None and (event_id or what == "crew"):
            self.roots += 1
            anonymous = "" if self.roots == 1 else f"{source}#{self.roots}"
            self.root = event_id or f"{what}-{self.roots}"
            scope = Scope(what, self.root, _name(line, what), event_id or anonymous, [])
        else:
            self.starts += 1
            around = self.outside(line, source)
            call_id = text_of(line.call_id) or event_id or f"{what}-{self.starts}"
            scope = Scope(what, call_id, _name(line, what), around.trace_id, around.parents)
            scope.is_nested_tool = what == "tool" and self._is_inside_tool(scope)
        before = self.scopes.get(event_id or scope.call_id)
        scope.is_ended = before is not None and before.is_ended
        replace(self.scopes, event_id or scope.call_id, scope)
        replace(self.latest, _key(line, what), scope.call_id)
        return scope

    def close(self, line: Record, what: str, source: str) -> Scope:
        """Return the scope that an end closes; one of its own where the start is not known."""
        key = _key(line, what)
        start = text_of(line.started_event_id) or text_of(line.call_id)
        if start is None:
            start = self.latest.pop(key, None)
        scope = self.scopes.get(start) if start else None
        if scope is None:
            around = self.outside(line, source)
            scope = Scope(what, start or "", _name(line, what), around.trace_id, around.parents)
            if start:
                remember(self.scopes, start, scope)
        return scope

    def outside(self, line: Record, source: str) -> Scope:
        """Return the place of an event that opens and closes nothing."""
        parent = text_of(line.parent_event_id) or self.root
        known = self.scopes.get(parent)
        if known is None:
            known = self.scopes.get(self.root)
        if known is None:
            return Scope("", "", None, "", [parent] if parent else [])
        return Scope("", "", None, known.trace_id, [known.call_id, *known.parents][:_MAX_PARENTS])

    def enclosing(self, scope: Scope) -> str | None:
        """Return the nearest enclosing scope that has events."""
        return next(
            (outer.call_id for outer in self._outer(scope) if self._has_events(outer)), None
        )

    def nearest(self, scope: Scope) -> str | None:
        """Return the scope itself if it has events, else the nearest enclosing one that has."""
        return (scope.call_id if self._has_events(scope) else self.enclosing(scope)) or None

    def agent_around(self, scope: Scope) -> str | None:
        """Return the name of the agent at work."""
        return next((o.operation for o in self._outer(scope) if o.what == "agent"), None)

    def attempt_of(self, scope: Scope) -> int:
        """Return which attempt of its task an agent's execution is."""
        return len(self.outcomes.get(_work(scope), ())) + 1

    def last_error_of(self, scope: Scope) -> str | None:
        """Return the error because of which an agent tries again."""
        errors = self.outcomes.get(_work(scope))
        return errors[-1] if errors else None

    def note_outcome(self, scope: Scope, error: str | None) -> None:
        """Note how an agent's execution ended; None means well."""
        if error is None:
            self.outcomes.pop(_work(scope), None)
        else:
            replace(
                self.outcomes, _work(scope), [*self.outcomes.get(_work(scope), []), error][-100:]
            )

    def note_failure(
        self, operation: str | None, arguments_hash: str | None, message: str | None
    ) -> None:
        """Note that a tool's failure has been told."""
        replace(self.failures, f"{operation}|{arguments_hash}", message or "")

    def forget_failure(self, operation: str | None, arguments_hash: str | None) -> str | None:
        """Return the failure that a new call of the tool answers; it may fail anew."""
        return self.failures.pop(f"{operation}|{arguments_hash}", None) or None

    def has_failure(self, operation: str | None, arguments_hash: str | None) -> bool:
        """Whether this failure has been told."""
        return f"{operation}|{arguments_hash}" in self.failures

    def _outer(self, scope: Scope) -> Iterable[Scope]:
        return (known for parent in scope.parents if (known := self.scopes.get(parent)) is not None)

    @staticmethod
    def _has_events(scope: Scope) -> bool:
        return scope.what in _TOLD_OF or (scope.what == "flow" and not scope.parents)

    def _is_inside_tool(self, scope: Scope) -> bool:
        return any(outer.what == "tool" for outer in self._outer(scope))


def _name(line: Record, what: str) -> str | None:
    if what == "crew":
        return text_of(line.crew_name) or "crew"
    if what == "flow":
        return text_of(line.flow_name) or "flow"
    names = {
        "agent": line.role,
        "task": line.task_name,
        "method": line.method_name,
        "model": line.model,
        "tool": line.tool_name,
    }
    return text_of(names.get(what))


def _key(line: Record, what: str) -> str:
    return f"{what}|{_name(line, what)}"


def _work(scope: Scope) -> str:
    return f"{scope.parents[0] if scope.parents else ''}|{scope.operation}"
