"""Costs that grow from record to record: the sum of all calls so far, not the price of one.

A name that says total may mean either. What only grows within a run is a sum, of which each record
adds what it has grown by; the first that is less shows that each was a price of its own, and makes
up for what was taken off before.
"""

from __future__ import annotations

import msgspec

from lastsignal.core.aliases.session_runs import remember

_DIGITS = 12  # of a dollar: what is less is the error of a subtraction


class Total(msgspec.Struct):
    """What a run's records have told so far under the name of a total, in US dollars."""

    last: float
    all: float
    """Of their numbers added up: what the run has cost if each is a price."""
    has_grown: bool = False
    is_price: bool = False


def price_of(known: dict[str, Total], trace_id: str, told: float) -> float:
    """Return what a record adds to the cost of its run, in US dollars.

    Args:
        known: of each run what was told before; noted here.
        trace_id: the run.
        told: the record's number.
    """
    total = known.get(trace_id)
    if total is None:
        remember(known, trace_id, Total(told, told))
        return told
    if total.is_price:
        return told
    if told > total.last or (told == total.last and total.has_grown):
        added = told - total.last
        total.last, total.all, total.has_grown = told, total.all + told, True
        return round(added, _DIGITS)
    total.is_price = True
    return round(told + total.all - total.last, _DIGITS)
