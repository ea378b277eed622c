"""Which of many error records tells the failure."""

from __future__ import annotations

from lastsignal.core.aliases.leaf_errors import ToldFailures, same_failure


def test_a_failure_told_inside_is_passed_on_by_all_that_enclose_it() -> None:
    told = ToldFailures()
    told.tell("timed out", ["agent", "crew"])
    assert told.is_passed_on("agent", "timed out", ())
    assert told.is_passed_on("crew", "crew failed: timed out", ())
    assert not told.is_passed_on("crew", "no tasks", ())
    assert not told.is_passed_on("other", "timed out", ())


def test_a_failure_told_further_out_is_not_told_again_inside() -> None:
    told = ToldFailures()
    told.tell_own("root", "boom", ())
    assert told.is_passed_on("step", "boom", ["root"])
    assert not told.is_passed_on("step", "bang", ["root"])


def test_words_around_a_message_do_not_make_another_failure() -> None:
    assert same_failure("429", "Error code: 429 - slow down")
    assert same_failure("", "anything")
    assert not same_failure("timeout", "refused")
