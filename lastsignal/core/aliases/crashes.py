"""Whether an error field, which is empty in every healthy record, shows that the run itself died.

By mistake anything may stand there: a flag, a number, a value of another shape, words beside the
proof that all went well. Such a record says that something failed, which its end repeats; a crash
is told only by what says what crashed. And what only a run that went well holds, as its result, or
a count without failures, contradicts it: a mistake in one field is likelier than in all the others.
"""

from __future__ import annotations

import re

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.error_classes import classify
from lastsignal.core.events import Event, metadata_of

CONTRADICTED = "contradicted"
"""Name in the metadata of such an end."""

_WORD = re.compile(r"[^\W\d_]{3}")
_CLASS_NAME = re.compile(r"[A-Z]\w{2}")
_EXCEPTION = re.compile(r"\w(?:error|exception|exit|exceeded)$", re.IGNORECASE)
_SAYS_ERROR = re.compile(r"(?:Uncaught )?(?:[\w.]{1,100}\.)?(?:Error|Exception|Timeout)\b\W")


def contradict(end: Event) -> Event:
    """Mark the failed end of a run or a call as one that its own record contradicts; return it.

    It stays a failure that is reported, and no rule takes its words for what it failed of.
    """
    end.error_class = "unknown"
    end.metadata = {**metadata_of(end), CONTRADICTED: True}
    return end


def is_crash(error: ErrorFields, *, is_doubted: bool = False) -> bool:
    """Tell whether what stands in an error field is why the run died.

    Args:
        error: what was read from the field.
        is_doubted: something beside it, as a result, or a shape in which the format writes no
            errors, speaks against it: then it must name an exception, as that of an answer does
            which broke off half-way.
    """
    return _names_exception(error) if is_doubted else _says_what(error)


def _says_what(error: ErrorFields) -> bool:
    kind, message = error.type or "", error.message or ""
    if error.http_status is not None or _names_exception(error) or _CLASS_NAME.match(kind):
        return True
    return message != kind and bool(_WORD.search(message))


def _names_exception(error: ErrorFields) -> bool:
    kind = error.type or ""
    if _EXCEPTION.search(kind) or classify("", None, kind, None) != "unknown":
        return True
    return bool(_SAYS_ERROR.match(error.message or ""))
