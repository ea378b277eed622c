"""Variables of the environment that stand for keys: `LASTSIGNAL_HTTP_LISTEN` is `http.listen`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from lastsignal.core.places import Place
from lastsignal.core.spelling import did_you_mean
from lastsignal.edges.config.kinds import fields_of, is_table, kind_of
from lastsignal.edges.config.places import Places
from lastsignal.edges.config.schema import Config, Target
from lastsignal.edges.config.values import Secret
from lastsignal.errors import Problem

PREFIX = "LASTSIGNAL_"
CONFIG_VARIABLE = "LASTSIGNAL_CONFIG"

_TARGET = re.compile(rf"{PREFIX}TARGETS_([A-Z0-9_]+)")
_OF_KUBERNETES = re.compile(rf"{PREFIX}(SERVICE_(HOST|PORT)|PORT(_\d+_|$))")
"""Variables that Kubernetes sets in every pod beside a service that is called lastsignal."""

_TRUTHS = {"true": True, "yes": True, "on": True, "1": True}
_LIES = {"false": False, "no": False, "off": False, "0": False}


def variables(
    kind: type[msgspec.Struct] = Config, place: Place = ()
) -> Iterator[tuple[str, Place, inspect.Type]]:
    """Yield every variable with the key that it stands for."""
    for name, one in fields_of(kind).items():
        here = (*place, name)
        inner = kind_of(one.type)
        if isinstance(inner, inspect.StructType):
            yield from variables(inner.cls, here)
        elif not is_table(inner):
            variable = PREFIX + "_".join(str(step) for step in here).upper()
            yield variable, here, inner
            if _is_secret(inner):
                yield f"{variable}_FILE", here, inner


def apply_environment(
    raw: dict[str, Any], environment: Mapping[str, str], places: Places
) -> list[Problem]:
    """Put the variables over what the file says; return warnings of those that say nothing.

    An empty variable counts as not set.
    """
    known = {variable: (place, kind) for variable, place, kind in variables()}
    referred = {CONFIG_VARIABLE, *_references(raw)}
    warnings = []
    for variable, text in sorted(environment.items()):
        if not variable.startswith(PREFIX) or not text or variable in referred:
            continue
        place, kind = known.get(variable) or _of_target(raw, variable, places) or ((), None)
        if kind is not None:
            _put(raw, place, _value(text, kind, variable))
            places.others[place] = variable
        elif not _OF_KUBERNETES.match(variable):
            hint = did_you_mean(variable, known, "see docs/configuration.md")
            warnings.append(Problem(variable, 0, "the variable is unknown", hint, "warning"))
    return warnings


def _of_target(
    raw: dict[str, Any], variable: str, places: Places
) -> tuple[Place, inspect.Type] | None:
    """Return the key of a target, which is made where there is none of this name."""
    found = _TARGET.fullmatch(variable)
    if found is None:
        return None
    for suffix, place, kind in variables(Target):
        ending = suffix.removeprefix(PREFIX.rstrip("_"))
        name = found[1].removesuffix(ending)
        if name != found[1] and name and place != ("name",):
            targets = raw.setdefault("targets", [])
            if not isinstance(targets, list):
                return None
            return ("targets", _index(targets, name, variable, places), *place), kind
    return None


def _index(targets: list[Any], name: str, variable: str, places: Places) -> int:
    for index, target in enumerate(targets):
        written = str(target.get("name")) if isinstance(target, dict) else ""
        if written.upper().replace("-", "_") == name:
            return index
    targets.append({"name": name.lower()})
    places.others["targets", len(targets) - 1] = variable
    return len(targets) - 1


def _put(raw: dict[str, Any], place: Place, value: object) -> None:
    node: Any = raw
    for step in place[:-1]:
        node = node.setdefault(step, {}) if isinstance(node, dict) else node[step]
        if not isinstance(node, dict | list):
            return  # the table is none: that is told when it is decoded
    node[place[-1]] = value


def _value(text: str, kind: inspect.Type, variable: str) -> object:
    """Return what the text would be in the file; what does not fit stays text, and is told."""
    match kind:
        case inspect.BoolType():
            return {**_TRUTHS, **_LIES}.get(text.strip().lower(), text)
        case inspect.IntType() if re.fullmatch(r"\s*[+-]?\d+\s*", text):
            return int(text)
        case inspect.VarTupleType():
            return _list(text)
        case _ if _is_secret(kind) and variable.endswith("_FILE"):
            return {"file": text}
        case _:
            return text


def _list(text: str) -> object:
    if text.lstrip().startswith("["):
        try:
            return tomllib.loads(f"list = {text}")["list"]
        except tomllib.TOMLDecodeError:
            return text
    return [one.strip() for one in text.split(",") if one.strip()]


def _is_secret(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.CustomType) and kind.cls is Secret


def _references(raw: object) -> Iterator[str]:
    """Yield the variables that secrets are read from: they stand for no key."""
    if isinstance(raw, dict):
        if isinstance(raw.get("env"), str) and len(raw) == 1:
            yield raw["env"]
        for value in raw.values():
            yield from _references(value)
    elif isinstance(raw, list):
        for value in raw:
            yield from _references(value)
