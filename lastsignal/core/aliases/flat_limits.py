"""Limits that flat records say were met: which one, and whether more than a word says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.fields import amount_of, mapping_of
from lastsignal.core.aliases.flat_doubts import TEXTS, answers_call
from lastsignal.core.aliases.flat_table import AliasTable
from lastsignal.core.aliases.flat_verdict import LEVELS, speaks_ill
from lastsignal.core.events import Event, Status, metadata_of

_AMOUNT = re.compile(
    r"^(?:max|limit|budget|spent|used|threshold|iterations|turns|steps)(?:_|$)(?!tokens)"
    r"|_(?:limit|budget|spent)$",
    re.IGNORECASE,
)
"""Names under which an amount that was allowed or used stands; `max_tokens` is of one answer."""
_LIMIT = re.compile(r"limit|budget|\bmax(?:imum)?\b|exceed|too many", re.IGNORECASE)


def read_limit(
    event: Event, record: Mapping[str, Any], implied: Status | None, table: AliasTable
) -> None:
    """Say which limit was met, and what was spent by then, which its calls have told too.

    Args:
        event: the audit, as far as it is read.
        record: its record.
        implied: the status that its word means.
        table: which names mean what.
    """
    limit = table.limit(record) if implied == "failed" else None
    if limit is not None:
        event.operation = limit
        if _says_what(event, record, table):
            event.error_message = event.error_message or f"{limit.replace('_', ' ')} reached"
        else:
            event.status, event.error_message = "completed", None  # one word may be a mistake
    total = table.total(record)
    if total is not None:
        event.cost_usd = None
        event.metadata = {"total_cost_usd": total, **metadata_of(event)}


def _says_what(event: Event, record: Mapping[str, Any], table: AliasTable) -> bool:
    """Whether a record that means a limit was met has more to say of it than the word.

    It tells how much was allowed or used, speaks of a limit, or is logged as an error.
    """
    numbers = {**mapping_of(record.get("metadata")), **record}
    if any(
        _AMOUNT.search(name) and amount_of(value) is not None for name, value in numbers.items()
    ):
        return True
    texts = (event.error_message, *(record.get(name) for name in TEXTS))
    if any(isinstance(text, str) and _LIMIT.search(text, 0, 500) for text in texts):
        return True
    return speaks_ill(record, LEVELS) and not answers_call(record, table)
