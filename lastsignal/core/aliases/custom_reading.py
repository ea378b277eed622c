"""The plain data of `[aliases]` → `UserAliases`, with every mistake in it told at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from lastsignal.core.aliases.custom import Layout, Scalar, UserAliases
from lastsignal.core.aliases.flat_table import Happened, plain_word
from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.events import EVENT_TYPES, STATUSES, EventType, Status
from lastsignal.core.places import Place, show_place
from lastsignal.core.spelling import nearest

Complain = Callable[[Place, str, str], None]
"""complain(the way to the value, what is wrong, how to fix it)"""

MAX_NAMES = 32  # of one field: each record of the layout is asked for all of them
MAX_WORDS = 500
MAX_LAYOUTS = 50  # every record of a source that is not settled yet is offered to each
MAX_STEPS = 8
_MAX_TEXT = 200

TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_LAYOUT_KEYS = (
    "name", "recognise", "fields", "events", "status", "timestamp_unit", "framework",
    "description",
)  # fmt: skip


def parse_aliases(
    raw: Mapping[str, Any], complain: Complain, taken: Collection[str] = ()
) -> UserAliases:
    """Return what `[aliases]` adds; whatever is wrong in it is told and left out.

    Args:
        raw: the section, as TOML gives it.
        complain: told of each mistake, at its way from the section.
        taken: the names of dialects that there are.
    """
    reader = _Reader(complain)
    reader.check_keys(raw, ("fields", "events", "dialects"), ())
    dialects = raw.get("dialects", [])
    if not isinstance(dialects, list | tuple):
        reader.complain(
            ("dialects",), "`aliases.dialects` is no list", "write [[aliases.dialects]]"
        )
        dialects = []
    if len(dialects) > MAX_LAYOUTS:
        reader.complain(("dialects",), f"there are more than {MAX_LAYOUTS}", "merge some of them")
    names = set(taken)
    layouts = [
        layout
        for index, one in enumerate(dialects[:MAX_LAYOUTS])
        if (layout := reader.layout(one, ("dialects", index), names)) is not None
    ]
    return UserAliases(
        fields=reader.fields(raw.get("fields", {}), ("fields",)),
        events=reader.events(raw.get("events", {}), ("events",)),
        layouts=tuple(layouts),
    )


class _Reader:
    def __init__(self, complain: Complain) -> None:
        self.complain = complain

    def table(self, value: object, place: Place) -> dict[str, Any]:
        if isinstance(value, Mapping):
            return dict(value)
        self.complain(place, f"`{_way(place)}` is no table", "write { name = value }")
        return {}

    def check_keys(self, raw: Mapping[str, Any], known: Collection[str], place: Place) -> None:
        for key in raw:
            if key not in known:
                self.complain(
                    (*place, key),
                    f"`{_way((*place, key))}` is not known",
                    nearest(key, known, "there are"),
                )

    def text(self, value: object, place: Place) -> str:
        if isinstance(value, str) and value.strip() and len(value) <= _MAX_TEXT:
            return value
        fix = "put it in quotes"
        self.complain(place, f"`{_way(place)}` must be text of 1 to {_MAX_TEXT} characters", fix)
        return ""

    def paths(self, value: object, place: Place) -> tuple[str, ...]:
        values = value if isinstance(value, list | tuple) else [value]
        if not values or len(values) > MAX_NAMES:
            fix = 'write ["name", "other.name"]'
            self.complain(place, f"`{_way(place)}` must be 1 to {MAX_NAMES} names", fix)
            return ()
        found = []
        for index, one in enumerate(values):
            where = (*place, index) if value is values else place
            path = self.text(one, where)
            if not path:
                continue
            if path.count(".") >= MAX_STEPS or "" in path.split("."):
                fix = f"write up to {MAX_STEPS} names with a dot between them: a.b.c"
                self.complain(where, f"`{path}` in `{_way(where)}` is no path", fix)
            else:
                found.append(path)
        return tuple(dict.fromkeys(found))

    def fields(self, value: object, place: Place) -> dict[str, tuple[str, ...]]:
        """Read `operation = ["my_tool"]`, and the other way round, `my_tool = "operation"`."""
        found: dict[str, tuple[str, ...]] = {}
        given: dict[str, str] = {}
        for key, names in self.table(value, place).items():
            where = (*place, key)
            target, paths = key, names
            if isinstance(names, str) and names in ALIASES and key != names:
                target, paths = names, key
            elif key not in ALIASES:
                fix = nearest(names if isinstance(names, str) else key, ALIASES, "there are")
                self.complain(where, f"`{key}` is no field of an event", fix)
                continue
            for path in self.paths(paths, where):
                if given.setdefault(path, target) != target:
                    fix = "leave one: a name can mean one thing"
                    self.complain(where, f"`{path}` is given to `{given[path]}` as well", fix)
                else:
                    found[target] = (*found.get(target, ()), path)
        return found

    def events(self, value: object, place: Place) -> dict[str, Happened]:
        """Read `toolStart = {event_type = "tool_call", status = "started"}` or only the type."""
        found: dict[str, Happened] = {}
        raw = self.table(value, place)
        if len(raw) > MAX_WORDS:
            self.complain(place, f"there are more than {MAX_WORDS} words", "keep those in use")
            return {}
        for word, meaning in raw.items():
            where = (*place, word)
            meaning = {"event_type": meaning} if isinstance(meaning, str) else meaning
            table = self.table(meaning, where)
            if not isinstance(meaning, Mapping):
                continue
            self.check_keys(table, ("event_type", "status"), where)
            kind: EventType | None = self.one_of(
                table.get("event_type"), EVENT_TYPES, (*where, "event_type")
            )
            status: Status | None = None
            if "status" in table:
                status = self.one_of(table["status"], STATUSES, (*where, "status"))
            if kind is not None:
                found[word] = found[plain_word(word)] = (kind, status)
        return found

    def one_of(self, value: object, known: Collection[Any], place: Place) -> Any:
        if isinstance(value, str) and value in known:
            return value
        what = "is missing" if value is None else f"cannot be `{value}`"
        fix = nearest(value or "", known, "write one of")
        self.complain(place, f"`{_way(place)}` {what}", fix)
        return None

    def layout(self, value: object, place: Place, taken: set[str]) -> Layout | None:
        raw = self.table(value, place)
        if not raw:
            return None
        self.check_keys(raw, _LAYOUT_KEYS, place)
        name = self.name(raw.get("name"), place, taken)
        told = self.table(raw.get("recognise", {}), (*place, "recognise"))
        self.check_keys(told, ("keys", "equals"), (*place, "recognise"))
        keys = self.paths(told["keys"], (*place, "recognise", "keys")) if "keys" in told else ()
        equals = self.equals(told.get("equals", {}), (*place, "recognise", "equals"))
        if not equals and len(keys) < 2:
            self.complain(
                (*place, "recognise"),
                f"`{_way((*place, 'recognise'))}` tells this layout from no other",
                'name two keys, or what one of them equals: {keys=["a", "b"], equals={c=1}}',
            )
        unit = raw.get("timestamp_unit")
        if unit is not None:
            unit = self.one_of(unit, TICKS, (*place, "timestamp_unit"))
        return Layout(
            name=name,
            keys=keys,
            equals=equals,
            fields=self.fields(raw.get("fields", {}), (*place, "fields")),
            events=self.events(raw.get("events", {}), (*place, "events")),
            statuses=self.statuses(raw.get("status", {}), (*place, "status")),
            ticks_per_second=TICKS.get(unit) if unit else None,
            framework=self.text(raw["framework"], (*place, "framework"))
            if "framework" in raw
            else "",
            description=self.text(raw["description"], (*place, "description"))
            if "description" in raw
            else "",
        )

    def name(self, value: object, place: Place, taken: set[str]) -> str:
        where = (*place, "name") if value is not None else place
        if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", value):
            self.complain(
                where,
                f"`{_way((*place, 'name'))}` is missing or no name",
                'write name = "my_agent"',
            )
            return "unnamed"
        if value in taken:
            self.complain(
                where,
                f"`{value}` in `{_way(where)}` is the name of another dialect",
                "choose another",
            )
        taken.add(value)
        return value

    def equals(self, value: object, place: Place) -> dict[str, tuple[Scalar, ...]]:
        found: dict[str, tuple[Scalar, ...]] = {}
        for path, wanted in self.table(value, place).items():
            where = (*place, path)
            is_list = isinstance(wanted, list | tuple)
            values = tuple(wanted) if is_list else (wanted,)
            wrong = [i for i, one in enumerate(values) if not isinstance(one, get_args(Scalar))]
            for index in wrong:
                way = _way((*where, index) if is_list else where)
                self.complain(where, f"`{way}` must be a value", 'write "text"')
            if not values:
                self.complain(where, f"`{_way(where)}` must be a value", 'write "text"')
            elif not wrong and self.paths(path, where):
                found[path] = values
        return found

    def statuses(self, value: object, place: Place) -> dict[str, Status]:
        found: dict[str, Status] = {}
        for word, status in self.table(value, place).items():
            known = self.one_of(status, STATUSES, (*place, word))
            if known is not None:
                found[word] = known
        return found


def _way(place: Place) -> str:
    return show_place(("aliases", *place))
