"""Whom to tell, of what, and how patiently; nothing here ever shows a secret."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from lastsignal.core.incidents import Incident, rank, told_severity
from lastsignal.core.rules import Severity

TargetKind = Literal["apprise", "alertmanager", "webhook"]

MASK = "***"
_HOST_IS_PUBLIC = frozenset(
    {"http", "https", "json", "jsons", "xml", "xmls", "form", "forms", "mailto", "mailtos"}
)
"""Schemes whose host is one; elsewhere in Apprise's URLs it may well be a token."""

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Secret:
    """Text that shows only to who asks for it: no log, message or traceback holds it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


class Route(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which incidents are told: all that a route says must hold. Names may be globs."""

    severity: Severity = "info"
    """The least severity."""
    rules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()

    def takes(self, incident: Incident) -> bool:
        """Whether the route tells of the incident, judged by the severity that people know."""
        return (
            rank(told_severity(incident)) >= rank(self.severity)
            and _any_of(self.rules, [incident.rule])
            and _any_of(self.categories, [incident.category])
            and _any_of(self.agents, incident.agents)
            and _any_of(self.frameworks, [incident.framework or ""])
        )


class Retries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a message is tried, and how long between."""

    attempts: Count | None = None
    """After so many failed attempts it is a dead letter; None: only `give_up_after` counts."""
    give_up_after: Positive = 24 * 3600.0
    """Seconds after which a message that could not be delivered is a dead letter."""
    base: Positive = 2.0
    """Seconds to wait after a first failure; doubles with each one."""
    cap: Positive = 300.0
    """The longest wait, in seconds; a longer `Retry-After` is obeyed."""


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom to tell of incidents."""

    name: str
    url: Secret
    kind: TargetKind = "apprise"
    routes: tuple[Route, ...] = ()
    """Any of them; none at all takes every incident."""
    send_resolved: bool = True
    max_per_second: Positive = 1.0
    """Messages, and attempts at them."""
    timeout: Positive = 15.0
    """Seconds that one attempt may take."""
    retries: Retries = Retries()
    queue_limit: Annotated[int, msgspec.Meta(ge=2)] = 100
    """Messages that wait; beyond it the oldest are folded into a digest."""
    token: Secret | None = None
    """A bearer token, for `alertmanager` and `webhook`."""
    username: str = ""
    """Of basic authentication, as `password`."""
    password: Secret | None = None
    labels: dict[str, str] = {}
    """That every alert gets besides its own."""
    refresh_interval: Positive = 60.0
    """Seconds between posts of an alert that stands, to Alertmanager."""

    def takes(self, incident: Incident) -> bool:
        """Whether this target is told of the incident."""
        return not self.routes or any(route.takes(incident) for route in self.routes)

    @property
    def address(self) -> str:
        """Where the target is, as far as that may be shown: its scheme, and its host if public."""
        return shown_url(self.url.reveal())


def shown_url(url: str) -> str:
    """Return as much of a URL as is no secret."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return MASK
    scheme = parts.scheme.lower()
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        return MASK
    if scheme not in _HOST_IS_PUBLIC or not host:
        return f"{scheme}://{MASK}"
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + (f":{port}" if port else "")


def _any_of(patterns: tuple[str, ...], names: list[str]) -> bool:
    if not patterns:
        return True
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
