"""A run as it happened, before any framework has written it down."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal

Ending = Literal["completed", "failed", "crashed", "torn"]


@dataclass(frozen=True)
class Failure:
    """Why a call failed, as a provider or a tool says it."""

    text: str
    http_status: int | None = None
    kind: str = "RuntimeError"
    code: str = ""
    """The provider's own name for it, where it has one."""


@dataclass
class Step:
    """One call of a model or a tool."""

    kind: Literal["model", "tool"]
    name: str
    began: float
    ended: float | None
    arguments: dict[str, Any] = field(default_factory=dict)
    error: Failure | None = None
    output: str = "done"
    input_tokens: int = 0
    output_tokens: int = 0
    finish: str = "stop"
    attempt: int = 0
    """Of a model call that is tried again: 1 for the first repetition."""


@dataclass
class Story:
    """One run: its calls in order, and how it ended."""

    trace: str
    chance: random.Random
    now: float
    steps: list[Step] = field(default_factory=list)
    ending: Ending = "completed"
    error: Failure | None = None
    """What the run itself fails of."""
    model: str = "gpt-5-mini"
    agent: str = "planner"
    prompt: str = "find a flight to Lisbon"

    def __post_init__(self) -> None:
        self.began = self.now
        self.tick()

    @property
    def ended(self) -> float:
        """When the run ended."""
        return self.now

    def tick(self, least: float = 0.2, most: float = 2.0) -> None:
        """Let some time pass."""
        self.now = round(self.now + self.chance.uniform(least, most), 3)

    def think(
        self,
        error: Failure | None = None,
        took: float | None = None,
        attempt: int = 0,
        finish: str = "stop",
        answer: int | None = None,
    ) -> Story:
        """Call the model."""
        began = self.now
        self._pass(took)
        step = Step("model", self.model, began, self.now, error=error, attempt=attempt)
        if error is None:
            step.input_tokens = self.chance.randint(200, 4000)
            step.output_tokens = self.chance.randint(20, 400) if answer is None else answer
            step.finish = finish
        self.steps.append(step)
        self.tick()
        return self

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        error: Failure | None = None,
        took: float | None = None,
        output: str = "done",
    ) -> Story:
        """Call a tool and wait for its result."""
        began = self.now
        self._pass(took)
        self.steps.append(Step("tool", tool, began, self.now, arguments, error, output))
        self.tick()
        return self

    def hang(self, tool: str, arguments: dict[str, Any]) -> Story:
        """Call a tool that never returns."""
        self.steps.append(Step("tool", tool, self.now, None, arguments))
        return self.end("torn")

    def parallel(self, tool: str, count: int) -> Story:
        """Call one tool several times at once; the results come in any order."""
        began = self.now
        for index in range(count):
            ended = round(began + self.chance.uniform(0.5, 4.0), 3)
            start = round(began + index * 0.01, 3)
            self.steps.append(Step("tool", tool, start, ended, {"part": index}))
            self.now = max(self.now, ended)
        self.tick()
        return self

    def work(self, rounds: int) -> Story:
        """Do what a healthy run does: think, call a tool, each call another one."""
        for _ in range(rounds):
            tool = self.chance.choice(("lookup_fare", "read_file", "web_search", "convert"))
            self.think().call(tool, {"q": self.chance.randrange(10**9)})
        return self

    def end(self, ending: Ending, error: Failure | None = None) -> Story:
        """End the run."""
        self.ending, self.error = ending, error
        return self

    def _pass(self, took: float | None) -> None:
        if took is None:
            self.tick(0.3, 3.0)
        else:
            self.now = round(self.now + took, 3)
