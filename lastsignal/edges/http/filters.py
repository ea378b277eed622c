"""Which incidents a request asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from lastsignal.core.incidents import Incident, rank
from lastsignal.core.rules import SEVERITIES
from lastsignal.core.spelling import did_you_mean

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000

STATES = ("open", "resolved")
FILTERS = ("state", "severity", "rule", "trace_id", "limit")

FIELDS = (
    "id",
    "state",
    "severity",
    "rule",
    "category",
    "title",
    "summary",
    "cause",
    "remedy",
    "trace_id",
    "framework",
    "agents",
    "group",
    "count",
    "first_seen",
    "last_seen",
    "opened_at",
    "updated_at",
    "resolved_at",
    "acknowledged_at",
    "explained_by",
    "evidence",
)
"""Of an incident: what is told. Times are epoch seconds."""


class FilterError(ValueError):
    """A request that asks for what there is not."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What a request asks for; several values of one field mean any of them."""

    wanted: Mapping[str, frozenset[str]]
    limit: int

    @classmethod
    def parse(cls, query: QueryParams) -> Filter:
        """Return the filter of a query string.

        Raises:
            FilterError: it names an unknown field or value.
        """
        wanted: dict[str, frozenset[str]] = {}
        for name in query:
            if name not in FILTERS:
                hint = did_you_mean(name, FILTERS, f"there are {_list(FILTERS)}")
                raise FilterError(f"`{name[:50]}` is no filter; {hint}")
            if name != "limit":
                values = [one for text in query.getlist(name) for one in text.split(",") if one]
                wanted[name] = frozenset(values)
        _check("state", wanted, STATES)
        _check("severity", wanted, SEVERITIES)
        return cls({name: values for name, values in wanted.items() if values}, _limit(query))

    def takes(self, incident: Incident) -> bool:
        """Whether the request asks for this incident."""
        return all(getattr(incident, name) in values for name, values in self.wanted.items())

    def apply(self, incidents: Iterable[Incident]) -> tuple[list[Incident], int]:
        """Return the incidents that are asked for, and how many there are without the limit."""
        found = worst_first(filter(self.takes, incidents))
        return found[: self.limit], len(found)


def worst_first(incidents: Iterable[Incident]) -> list[Incident]:
    """Return open ones before resolved ones, the worst first, of these the latest."""
    return sorted(
        incidents,
        key=lambda one: (one.state != "open", -rank(one.severity), -one.opened_at, one.id),
    )


def told(incident: Incident) -> dict[str, Any]:
    """Return what the API tells of an incident."""
    return {name: getattr(incident, name) for name in FIELDS}


def _check(name: str, wanted: Mapping[str, frozenset[str]], known: tuple[str, ...]) -> None:
    for value in sorted(wanted.get(name, ())):
        if value not in known:
            raise FilterError(f"`{value[:50]}` is no {name}; there are {_list(known)}")


def _limit(query: QueryParams) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= MAX_LIMIT:
        raise FilterError(f"`limit` is `{text[:50]}`; it takes 1 to {MAX_LIMIT}")
    return int(text)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)
