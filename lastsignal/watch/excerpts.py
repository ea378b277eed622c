"""The text of the lines that a notification rests on, re-read while the file is the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

import msgspec

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.framing import first_record
from lastsignal.core.incidents import Incident, Notice
from lastsignal.edges.inputs.excerpts import excerpt_of
from lastsignal.edges.tailer import FileCheckpoint
from lastsignal.edges.tailer.unpacking import HEADS
from lastsignal.watch.pipeline import Pipelines

MAX_READS = 50  # of one commit: in a storm nobody reads them all
MAX_KEPT = 2_000  # texts kept for those who are told again and again
_FIRST, _LAST = 5, 2  # lines of evidence that messages show
_READ_BYTES = 16 * 1024
_CHARACTERS = 600


class Excerpts:
    """Reads them, and remembers those that were read.

    Args:
        pipelines: the files that are being read.
    """

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._texts: dict[Evidence, str] = {}
        self._reads = 0

    def attach(self, notices: Sequence[Notice]) -> list[Notice]:
        """Return the notices with the text of what they show; called on a thread."""
        self._reads = 0
        return [
            msgspec.structs.replace(one, incidents=[self._with(*one.incidents)])
            if one.kind in ("opened", "repeated")
            else one
            for one in notices
        ]

    def known(self, incident: Incident) -> Incident:
        """Return the incident with the texts that were read before; reads nothing."""
        texts = self._texts
        if not any(mark in texts for mark in incident.evidence):
            return incident
        return _filled(incident, [texts.get(mark, "") for mark in incident.evidence])

    def _with(self, incident: Incident) -> Incident:
        last = len(incident.evidence) - _LAST
        return _filled(
            incident,
            [
                self._text(mark, incident.trace_id) if n < _FIRST or n >= last else ""
                for n, mark in enumerate(incident.evidence)
            ],
        )

    def _text(self, mark: Evidence, trace_id: str) -> str:
        known = self._texts.get(mark)
        if known is not None or self._reads >= MAX_READS:
            return known or ""
        self._reads += 1
        files, is_only = self._pipelines.named(mark.source)
        found = [text for file in files if (text := _read(file, mark))]
        if not is_only:  # rotation has given the name to several: which is meant must be clear
            found = [text for text in found if trace_id in text or (mark.focus or "\0") in text]
        if len(found) != 1:
            return ""
        if len(self._texts) >= MAX_KEPT:
            del self._texts[next(iter(self._texts))]
        self._texts[mark] = found[0]
        return found[0]


def _filled(incident: Incident, texts: Sequence[str]) -> Incident:
    evidence = [
        msgspec.structs.replace(mark, excerpt=text) if text else mark
        for mark, text in zip(incident.evidence, texts, strict=True)
    ]
    return msgspec.structs.replace(incident, evidence=evidence)


def _read(file: FileCheckpoint, mark: Evidence) -> str:
    """Return the record at an offset; nothing where the file is another, packed, or gone."""
    try:
        descriptor = os.open(file.real_path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        info = os.fstat(descriptor)
        same = (info.st_dev, info.st_ino) == (file.device, file.inode)
        if not same or not stat.S_ISREG(info.st_mode) or mark.offset >= info.st_size:
            return ""
        if os.pread(descriptor, 4, 0).startswith(HEADS):
            return ""
        data = os.pread(descriptor, _READ_BYTES, mark.offset)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return excerpt_of(first_record(data, _READ_BYTES), mark.focus, _CHARACTERS)
