"""The fields of LangSmith's runs that are read, and the pieces in which they come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.fields import at, mapping_of, status_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import attempt_in
from lastsignal.core.timestamps import parse_timestamp

ABSENT = msgspec.Raw(b"")
_KINDS = {"llm": "model", "embedding": "model", "tool": "tool", "retriever": "tool"}
_SEGMENT = re.compile(r"(\d{8}T\d{6})(\d{1,6})Z(.+)")
_MAX_DEPTH = 64
_MAX_PATCH = 200_000
_OF_AN_END = (
    "id end_time error status prompt_tokens completion_tokens total_cost outputs events".split()
)


class Run(msgspec.Struct, gc=False):
    """A run, or what a patch says of one; the payload stays undecoded."""

    id: Any = None
    name: Any = None
    run_type: Any = None
    start_time: Any = None
    end_time: Any = None
    error: Any = None
    status: Any = None
    parent_run_id: Any = None
    trace_id: Any = None
    dotted_order: Any = None
    tags: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_cost: Any = None
    extra: msgspec.Raw = ABSENT
    inputs: msgspec.Raw = ABSENT
    outputs: msgspec.Raw = ABSENT
    events: msgspec.Raw = ABSENT
    child_runs: msgspec.Raw = ABSENT
    post: msgspec.Raw = ABSENT
    patch: msgspec.Raw = ABSENT

    @property
    def is_run(self) -> bool:
        """Whether there is anything to tell which run this speaks of."""
        return bool(
            isinstance(self.run_type, str)
            or isinstance(self.dotted_order, str)
            or (text_of(self.id) and self.end_time is not None)
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """The run's own metadata, without the parameters and the runtime beside it."""
        if not bytes(self.extra):
            return {}
        try:
            return dict(mapping_of(_decode_extra(self.extra).metadata))
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return {}

    @property
    def ended_well(self) -> bool:
        """Whether its status, or the last of its own events, says so."""
        ending = at(value_of(self.events), -1, "name")
        return status_of(self.status) == "completed" or ending == "end"

    @property
    def has_result(self) -> bool:
        """Whether it has put out anything."""
        return any(mapping_of(value_of(self.outputs)).values())

    @property
    def has_answered(self) -> bool:
        """Whether it has put out more than a list of pieces, which what broke off leaves too."""
        outputs = mapping_of(value_of(self.outputs))
        pieces = outputs.get("output") if len(outputs) == 1 else None
        return self.has_result and not isinstance(pieces, list)


class _Extra(msgspec.Struct, gc=False):
    metadata: Any = None


class KnownRun(msgspec.Struct, array_like=True):
    """What a run's later records do not repeat."""

    kind: str
    """`agent` for a root, `model`, `tool`, or `step` for the wrappers in between."""
    operation: str | None
    trace_id: str
    ancestors: list[str]
    """Enclosing runs from the root inwards."""
    started_at: float | None = None
    agent: str | None = None
    model: str | None = None
    attempt: int | None = None
    is_started: bool = False
    is_ended: bool = False


_decode = msgspec.json.Decoder(Run).decode
_decode_extra = msgspec.json.Decoder(_Extra).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decode_run(record: bytes) -> Run | None:
    """Return a record as a run, None where it is no JSON object."""
    try:
        return _decode(record)
    except msgspec.ValidationError:
        return None


def kept_patch(run: Run) -> bytes | None:
    """Return what a patch says of its run's end, for when the run is known; None if that is too
    much to keep.
    """
    fields = {name: getattr(run, name) for name in _OF_AN_END}
    said = {name: value for name, value in fields.items() if value is not None and value != ABSENT}
    patch = msgspec.json.encode(said)
    return patch if len(patch) <= _MAX_PATCH else None


def runs_in(record: bytes, run: Run) -> list[tuple[int, Run]]:
    """Return (offset, run) of every run in a record, each failure before those that pass it on."""
    if bytes(run.post) or bytes(run.patch):
        batches = (run.post, run.patch)
        return [(at, inner) for runs in batches for at, _, inner in _located(record, runs, 0)]
    if bytes(run.child_runs):
        return sorted(_with_children(record, run), key=_ended_first)
    return [(0, run)]


def segments_of(dotted_order: object) -> list[tuple[float | None, str]]:
    """Split `20261130T133054237726Z<id>.…` into (start, run id), from the root inwards."""
    if not isinstance(dotted_order, str):
        return []
    segments: list[tuple[float | None, str]] = []
    written = dotted_order.split(".")
    if len(written) > _MAX_DEPTH:
        written[1 : 1 - _MAX_DEPTH] = []
    for segment in written:
        found = _SEGMENT.fullmatch(segment)
        if found is None:
            return []
        segments.append((parse_timestamp(f"{found[1]}.{found[2]}Z"), found[3]))
    return segments


def describe(run: Run, run_id: str, segments: list[tuple[float | None, str]]) -> KnownRun:
    """Return what the first record of a run says of it."""
    metadata = run.metadata
    ancestors = [ancestor for _, ancestor in segments[:-1]]
    parent = text_of(run.parent_run_id)
    if parent and parent not in ancestors:
        ancestors.append(parent)
    trace_id = text_of(run.trace_id) or (segments[0][1] if segments else run_id)
    if trace_id != run_id and trace_id not in ancestors:
        ancestors.insert(0, trace_id)
    kind = _kind_of(run, is_root=not ancestors)
    name = text_of(run.name)
    model = text_of(metadata.get("ls_model_name")) if kind == "model" else None
    started_at = parse_timestamp(run.start_time)
    if started_at is None and segments:
        started_at = segments[-1][0]
    return KnownRun(
        kind=kind,
        operation=model or name,
        trace_id=trace_id,
        ancestors=ancestors,
        started_at=started_at,
        agent=text_of(metadata.get("lc_agent_name")) or (name if kind == "agent" else None),
        model=model,
        attempt=attempt_in(run.tags),
    )


def _kind_of(run: Run, is_root: bool) -> str:
    if isinstance(run.run_type, str):
        return _KINDS.get(run.run_type, "agent" if is_root else "step")
    outputs = mapping_of(value_of(run.outputs))  # a patch whose create line was not seen
    if isinstance(outputs.get("generations"), list):
        return "model"
    return "agent" if is_root and isinstance(run.dotted_order, str) else "step"


def _located(container: bytes, runs: msgspec.Raw, base: int) -> Iterator[tuple[int, bytes, Run]]:
    array = bytes(runs)
    try:
        elements = _decode_list(array)
    except msgspec.MsgspecError:
        return
    for offset, element in locate(array, elements, base + max(container.find(array), 0)):
        run = decode_run(element)
        if run is not None:
            yield offset, element, run


def _with_children(record: bytes, root: Run) -> Iterator[tuple[int, Run]]:
    waiting = [(0, record, root, 0)]
    while waiting:
        offset, data, run, depth = waiting.pop()
        yield offset, run
        if bytes(run.child_runs) and depth < _MAX_DEPTH:
            inside = _located(data, run.child_runs, offset)
            waiting += [(at, element, inner, depth + 1) for at, element, inner in inside]


def _ended_first(found: tuple[int, Run]) -> tuple[float, int]:
    ended_at = parse_timestamp(found[1].end_time)
    return (float("inf") if ended_at is None else ended_at, -found[0])
