"""Which dialect a record is of: the ladder is asked once, and again where a record does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from lastsignal.core.aliases.contract import (
    Decoded,
    Decoder,
    Dialect,
    Drop,
    Enclosing,
    Exact,
    Extents,
    General,
    NotThisDialect,
    Wary,
    none_is_exact,
)
from lastsignal.core.events import Event
from lastsignal.core.packing import pack

UNSETTLED = (NotThisDialect, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What sends a record back to the ladder: another layout, or JSON that needs the lenient way."""

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What a mistake in a dialect raises. Traces hold shapes that nobody thought of, so a mistake costs
its record (`decoder_fault`), and the rest of the run is still read. What is no mistake about a
record (no memory, an interrupt) passes through."""

REFUSALS = frozenset(
    {
        "blank",
        "decoder_fault",
        "invalid_json",
        "nested_too_deeply",
        "not_an_object",
        "unrecognised_record",
    }
)
"""Reasons for which a record yields nothing though no dialect has dropped it."""

_KEPT_FAULTS = 20


class Fault(NamedTuple):
    """A mistake of a dialect that one record has shown."""

    dialect: str
    error: str


class Recognition:
    """The dialects of one source, each with the decoder that remembers what it has read.

    Args:
        source: what decoders are made for.
        ladder: dialects in the order in which a record is offered to them.
    """

    def __init__(self, source: str, ladder: tuple[Dialect, ...]) -> None:
        self.settled: Dialect | None = None
        """The dialect of the last record that one has taken."""
        self.decode: Callable[[bytes], Decoded] = _no_dialect_yet
        """The way of its next record: costs the same however long the ladder is."""
        self.faults: list[Fault] = []
        """The first ones, for whoever mends the dialect."""
        self._source = source
        self._ladder = ladder
        self._decoders: dict[str, Decoder] = {}
        self._exact: Exact | None = None
        self._is_mixed = False
        """Whether a layout that is told by more than flat words has been settled on."""

    @property
    def exact(self) -> Callable[[bytes], Event | None]:
        """What takes a record before `decode`, if it is exact: see `contract.Exact`."""
        return self._exact.exact if self._exact else none_is_exact

    def offer(self, value: Any, data: bytes, is_mended: bool) -> Decoded:
        """Return what the first dialect that takes a record makes of it.

        Args:
            value: the record, decoded.
            data: bytes that a strict decoder takes.
            is_mended: whether the settled dialect has not seen these bytes yet.
        """
        if is_mended and self.settled is not None and not self._is_general(self.settled):
            decoded = self._try(self.settled, data)
            if decoded is not None:
                return decoded
        for dialect in self._ladder:
            try:
                is_its_own = dialect.recognise(value)
            except FAULTS as fault:
                self.note_fault(dialect, fault)
                continue
            if is_its_own and (decoded := self._try(dialect, data)) is not None:
                return decoded
        if (decoded := self._try_known(data)) is not None:
            return decoded
        return Drop("unrecognised_record" if isinstance(value, dict | list) else "not_an_object")

    def save(self) -> tuple[str | None, bool, dict[str, bytes]]:
        """Return what `restore` takes: all that a later record depends on."""
        states = {
            name: pack(decoder.state)
            for name, decoder in self._decoders.items()
            if decoder.state is not None
        }
        return self.settled.name if self.settled else None, self._is_mixed, states

    def restore(self, settled: str | None, is_mixed: bool, states: dict[str, bytes]) -> None:
        """Take back what `save` gave; a dialect that is no more is recognised anew.

        Args:
            settled: the name of the settled dialect.
            is_mixed: whether a layout that is told by more than flat words has been settled on.
            states: what each decoder remembers, by its dialect's name.

        Raises:
            msgspec.MsgspecError: a state is not this dialect's.
        """
        by_name = {dialect.name: dialect for dialect in self._ladder}
        for name, state in states.items():
            if name in by_name:
                decoder = self._decoders[name] = by_name[name].decoder(self._source)
                saved = msgspec.msgpack.decode(state, type=type(decoder.state))
                for field in saved.__struct_fields__ if saved is not None else ():
                    setattr(decoder.state, field, getattr(saved, field))
        self._is_mixed = is_mixed
        if settled in by_name:
            decoder = self._decoders.setdefault(settled, by_name[settled].decoder(self._source))
            self._settle_on(by_name[settled], decoder)

    def extents(self) -> Iterator[Extents]:
        """Yield how much has come of traces whose records name what encloses them."""
        for decoder in self._decoders.values():
            if isinstance(decoder, Enclosing):
                yield decoder.extents()

    def note_fault(self, dialect: Dialect | None, fault: Exception) -> Drop:
        """Keep what a dialect has got wrong; the record is lost."""
        if len(self.faults) < _KEPT_FAULTS:
            name = dialect.name if dialect else "none"
            self.faults.append(Fault(name, f"{type(fault).__name__}: {fault}"))
        return Drop("decoder_fault")

    def _try_known(self, data: bytes) -> Decoded | None:
        """Ask those that have taken records before: some words mean something only behind these."""
        for dialect in self._ladder:
            decoder = self._decoders.get(dialect.name)
            if decoder is not None and decoder.decode != self.decode:
                decoded = self._try(dialect, data)
                if decoded is not None:
                    return decoded
        return None

    def _try(self, dialect: Dialect, data: bytes) -> Decoded | None:
        try:
            decoder = self._decoders.get(dialect.name)
            if decoder is None:
                decoder = self._decoders[dialect.name] = dialect.decoder(self._source)
            if isinstance(decoder, Wary) and not self._is_told_by_words():
                decoded = decoder.among_others(data, self._is_mixed)
            else:
                decoded = decoder.decode(data)
        except UNSETTLED:
            return None
        except FAULTS as fault:
            return self.note_fault(dialect, fault)
        self._settle_on(dialect, decoder)
        return decoded

    def _settle_on(self, dialect: Dialect, decoder: Decoder) -> None:
        self.settled, self._exact = dialect, None
        if not isinstance(decoder, General):
            self.decode, self._is_mixed = decoder.decode, True
        elif self._is_mixed:
            self.decode = _no_dialect_yet  # the next record may be the other's: ask all
        else:
            self.decode = decoder.again
            if isinstance(decoder, Exact):
                self._exact = decoder

    def _is_told_by_words(self) -> bool:
        """Whether the source was told by nothing but its words: then one more word is enough."""
        decoder = self._decoders.get(self.settled.name) if self.settled else None
        return not self._is_mixed and isinstance(decoder, Wary | Exact)

    def _is_general(self, dialect: Dialect) -> bool:
        return isinstance(self._decoders.get(dialect.name), General)


def _no_dialect_yet(record: bytes) -> Decoded:
    raise NotThisDialect
