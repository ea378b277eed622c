"""The lag in seconds: the age of the oldest byte that is not read."""

from __future__ import annotations

from lastsignal.watch.lag import Lag


def test_nothing_unread_is_no_lag() -> None:
    lag = Lag()

    assert [lag.seconds(now, 100, 0) for now in (1.0, 2.0)] == [0.0, 0.0]


def test_a_byte_that_nobody_reads_gets_older() -> None:
    lag = Lag()

    assert [lag.seconds(float(now), 0, 10 * (now + 1)) for now in range(4)] == [0, 1, 2, 3]


def test_reading_that_keeps_up_is_never_far_behind() -> None:
    lag = Lag()
    # a thousand bytes a second are written, and those of the last second are unread at every look
    seen = [lag.seconds(float(now), 1000 * now, 1000) for now in range(1000)]

    assert max(seen) <= 1.0


def test_reading_that_falls_behind_and_catches_up_is_told_so() -> None:
    lag = Lag()
    slow = [lag.seconds(float(now), 500 * now, 500 * now + 1000) for now in range(10)]
    caught_up = lag.seconds(10.0, 11_000, 100)

    assert slow == sorted(slow)
    assert slow[-1] >= 4
    assert caught_up <= 1.0
    assert lag.seconds(11.0, 11_100, 0) == 0.0


def test_what_was_cut_away_unread_waits_no_more() -> None:
    lag = Lag()
    lag.seconds(0.0, 0, 1000)
    lag.seconds(5.0, 10, 20)

    assert lag.seconds(6.0, 30, 5) <= 1.0
