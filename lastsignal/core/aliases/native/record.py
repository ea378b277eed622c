"""A record of the published schema with exact names and types, and what a source adds to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, cast

import msgspec

from lastsignal.core.aliases.flat_verdict import VERDICTS
from lastsignal.core.aliases.native.habits import Habits
from lastsignal.core.aliases.native.metadata import NONE, Amount, Count, HttpError, Name
from lastsignal.core.aliases.reading.long_names import MAX_NAME
from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import Event, Metadata, Status
from lastsignal.core.timestamps import EARLIEST, LATEST, parse_timestamp

_ErrorClass = Annotated[str, msgspec.Meta(pattern=f"^(?:{'|'.join(ERROR_CLASSES)})$")]

_NoText = Annotated[str, msgspec.Meta(pattern="^(?!)")]
_NoNumber = Annotated[int, msgspec.Meta(gt=0, lt=0)]
"""Types that no value is of."""


class ExactRecord(Event, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The event that a record is, when nothing in it needs to be made out."""

    trace_id: Annotated[str, msgspec.Meta(max_length=MAX_NAME)] = ""
    timestamp: Annotated[float, msgspec.Meta(ge=EARLIEST, le=LATEST)]
    status: Status | None = None
    framework: Name = "native"
    metadata: msgspec.Raw = NONE  # rules parse it where something asks
    operation: Name | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, lt=10**15)] | None = None
    agent: Name | None = None
    call_id: Name | None = None
    parent_id: Name | None = None
    error_class: _ErrorClass | None = None
    http_status: HttpError | None = None
    error_type: Name | None = None
    model: Name | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Amount | None = None
    duration_seconds: Amount | None = None
    finish_reason: Name | None = None
    arguments_hash: Name | None = None
    # where a record stands is not for the record to say
    source: _NoText = msgspec.field(default="", name="(source)")
    line: _NoNumber = msgspec.field(default=0, name="(line)")
    offset: _NoNumber = msgspec.field(default=0, name="(offset)")
    timestamp_source: _NoText = msgspec.field(  # type: ignore[assignment]
        default="record", name="(timestamp_source)"
    )
    sequence: _NoNumber | None = msgspec.field(default=None, name="(sequence)")
    identity: _NoText | None = msgspec.field(default=None, name="(identity)")


class HabitualRecord(ExactRecord, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The event of a record that is exact but for the habits of its source."""

    timestamp: float | str  # type: ignore[assignment]

    may_be_named: ClassVar[bool] = False
    """Whether another name may tell the operation, where the exact one is missing."""
    may_be_identified: ClassVar[bool] = False
    """Whether another name may tell the trace."""
    verdicts: ClassVar[tuple[tuple[str, Callable[[object], bool]], ...]] = ()
    """Fields that say that something has failed, if they hold what does."""
    noted: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Which of our fields holds which name of the source's own."""

    def settle(self) -> bool:
        """Read the time as it is written; return whether nothing is left to find out."""
        time = self.timestamp
        if not isinstance(time, float) or not EARLIEST <= time <= LATEST:
            seconds = parse_timestamp(time)
            if seconds is None:
                return False
            self.timestamp = seconds
        if self.may_be_identified and not self.trace_id:
            return False
        # a call without an operation has been given its model, the very same text
        if self.may_be_named and (self.operation is None or self.operation is self.model):
            return False
        return not any(
            (raw := getattr(self, field)) is not NONE and says_so(msgspec.json.decode(raw))
            for field, says_so in self.verdicts
        )

    def parse_metadata(self) -> Metadata:
        """Return the metadata, and what stands in the record under names of the source's own."""
        told = ((name, getattr(self, field)) for field, name in self.noted)
        own = {name: msgspec.json.decode(raw) for name, raw in told if raw is not NONE}
        said = {name: value for name, value in own.items() if value is not None}
        return {**said, **super().parse_metadata()}

    def unparsed_metadata(self) -> bytes:
        """Return the metadata with what `parse_metadata` adds to them."""
        if self.noted:
            return msgspec.json.encode(self.parse_metadata())
        return super().unparsed_metadata()


def with_habits(habits: Habits) -> type[HabitualRecord]:
    """Return the type of the records of a source that has these habits."""
    noted = tuple((f"noted_{number}", name) for number, name in enumerate(sorted(habits.noted)))
    beside = ((f"beside_{number}", name) for number, name in enumerate(sorted(habits.beside)))
    empty = ((f"empty_{number}", name) for number, name in enumerate(sorted(habits.empty)))
    fields: list[tuple[str, Any, Any]] = [
        *((field, msgspec.Raw, msgspec.field(default=NONE, name=name)) for field, name in noted),
        *((field, msgspec.Raw, msgspec.field(default=NONE, name=name)) for field, name in beside),
        *((field, None, msgspec.field(default=None, name=name)) for field, name in empty),
    ]
    written = msgspec.defstruct(
        "WrittenRecord",
        fields,
        bases=(HabitualRecord,),
        namespace={
            "noted": noted,
            "verdicts": tuple((field, VERDICTS[name]) for field, name in noted if name in VERDICTS),
            "may_be_named": "operation" in habits.may_stand_in,
            "may_be_identified": "trace_id" in habits.may_stand_in,
        },
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
    )
    return cast(type[HabitualRecord], written)
