"""Hard negatives: runs that went well, and look as if they had not."""

from __future__ import annotations

from collections.abc import Callable

from corpus.story import Failure, Story

_WORDS = (
    "Error: HTTP 429 Too Many Requests, insufficient_quota, TimeoutError: timed out, 401"
    " Unauthorized, permission denied, context_length_exceeded, fatal: crashed, exit code 1"
)
_TROUBLE = (
    Failure("HTTP 429 Too Many Requests", 429, "RateLimitError", "rate_limit_error"),
    Failure("Overloaded", 529, "InternalServerError", "overloaded_error"),
    Failure("Connection reset by peer", None, "ConnectionError"),
    Failure("read timed out", None, "ReadTimeout"),
)


def _plain(story: Story) -> Story:
    return story.work(story.chance.randint(4, 12)).think()


def _talk_of_failures(story: Story) -> Story:
    story.prompt = f"Explain this log: {_WORDS}"
    for file in range(6):
        story.think().call("read_file", {"path": f"logs/{file}.txt"}, output=f"12: {_WORDS}")
    return story.think()


def _retries_that_succeed(story: Story) -> Story:
    for index in range(6):
        story.think()
        story.call("fetch_page", {"url": index}, story.chance.choice(_TROUBLE))
        story.tick(2.0, 5.0)
        story.call("fetch_page", {"url": index})
    return story.think()


def _model_retries(story: Story) -> Story:
    for _ in range(4):
        story.work(1).think(story.chance.choice(_TROUBLE[:2]))
        story.tick(3.0, 8.0)
        story.think(attempt=1)
    return story.think()


def _polling(story: Story) -> Story:
    story.think().call("start_job", {"name": "report"})
    for _ in range(25):
        story.call("get_job_status", {"job": 7}, took=10.0, output="running").think()
    return story.call("read_report", {"job": 7}).think()


def _parallel(story: Story) -> Story:
    for _ in range(3):
        story.think().parallel("fetch_page", 8)
    return story.think()


def _slow(story: Story) -> Story:
    return story.think().call("run_query", {"sql": "…"}, took=1500.0).think(took=240.0)


def _one_failure_each(story: Story) -> Story:
    for index in range(5):
        story.think().call("read_file", {"path": index}, Failure("File does not exist"))
        story.think().call("list_files", {"folder": index})
    return story.think()


def _edit_and_test(story: Story) -> Story:
    for change in range(6):
        story.think().call("run_tests", {"suite": "all"}, Failure(f"{9 - change} tests failed"))
        story.think().call("edit_file", {"path": "a.py", "change": change})
    return story.call("run_tests", {"suite": "all"}).think()


def _skewed(story: Story) -> Story:
    story.work(3)
    for step in story.steps[len(story.steps) // 2 :]:
        step.began -= 2.0  # another machine's clock, two seconds behind
        step.ended = (step.ended or step.began) - 2.0
    return story.think()


def _explores(story: Story) -> Story:
    """Commands fail one after the other, each for its own reason, until one shows the way."""
    for attempt in range(5):
        text = f"exit code {attempt + 1}: pattern {story.chance.randrange(10**6)} is not in sight"
        story.think().call("shell", {"command": attempt}, Failure(text))
    return story.call("shell", {"command": "ls"}).think()


def _numbers(story: Story) -> Story:
    """Tools speak of lines, rows and ports by numbers that are status codes elsewhere."""
    for number in (429, 503, 401, 404, 500):
        story.think().call("check", {"number": number}, Failure(f"line {number}: row {number} odd"))
        story.call("repair", {"number": number}).call("check", {"number": number, "again": True})
    return story.think()


def _other_way(story: Story) -> Story:
    """A tool that cannot be reached is given up for another, which does the work."""
    failure = Failure("connect ECONNREFUSED 127.0.0.1:9000")
    for index in range(3):
        story.think().call("search_fast", {"q": index}, failure).call("search_slow", {"q": index})
    return story.think()


HEALTHY: dict[str, Callable[[Story], Story]] = {
    "plain": _plain,
    "talk_of_failures": _talk_of_failures,
    "retries_that_succeed": _retries_that_succeed,
    "model_retries_that_succeed": _model_retries,
    "polling": _polling,
    "parallel": _parallel,
    "slow_but_finished": _slow,
    "one_failure_each": _one_failure_each,
    "edit_and_test": _edit_and_test,
    "clock_skew": _skewed,
    "explores": _explores,
    "numbers_that_are_no_codes": _numbers,
    "another_way": _other_way,
}
