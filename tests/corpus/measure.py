"""How well the detectors do on the labelled corpus: recall, precision, wrong traces, causes.

Run it with `python tests/corpus/measure.py`; the figures are kept by `tests/test_corpus.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus.failures import FAILURES, FailureClass
from corpus.healthy import HEALTHY
from corpus.layouts import LAYOUTS, Layout
from corpus.story import Story
from lastsignal.app import diagnose, in_order_of_time
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.rules import Rule
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules

START = 1_770_000_000.0
APART = 360.0  # seconds
NEWS = frozenset({"new_failure_kind"})
"""Information that is true of a failing run whenever it is told."""
MODELS = ("gpt-5-mini", "claude-sonnet-5", "gemini-3-pro", "llama-5-70b")
AGENTS = ("planner", "researcher", "clerk")


@dataclass(frozen=True)
class Labelled:
    """One run of the corpus and what is true of it."""

    story: Story
    name: str
    """Of the failure class, or of the kind of healthy run."""
    failure: FailureClass | None


@dataclass
class Scores:
    """What the detectors said of one or more layouts."""

    runs: int = 0
    failing: int = 0
    recalled: int = 0
    """Failing runs of which the labelled rule speaks."""
    right_causes: int = 0
    findings: int = 0
    true_findings: int = 0
    on_wrong_traces: int = 0
    """Findings of runs that went well, or of no run at all."""
    mistakes: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Share of the failures that are found."""
        return self.recalled / self.failing

    @property
    def precision(self) -> float:
        """Share of the (trace, rule) pairs told that are true."""
        return self.true_findings / self.findings

    @property
    def causes(self) -> float:
        """Share of the failing runs whose cause is named right."""
        return self.right_causes / self.failing

    def add(self, other: Scores) -> None:
        """Add the counts of another layout."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def tell_runs(layout: Layout, seed: int, runs: int) -> Iterator[Labelled]:
    """Yield `runs` runs of every class that the layout can express, and of each healthy kind.

    Failing runs begin so far apart that no statement across runs is true of them; a healthy one
    runs beside each.
    """
    chance = random.Random(seed)
    failing = [one for one in FAILURES if not is_left_out(layout, one) for _ in range(runs)]
    chance.shuffle(failing)
    for number, failure in enumerate(failing):
        story = _story(chance, f"{failure.name.replace('_', '-')}-{number}", number)
        yield Labelled(failure.tell(story), failure.name, failure)
    healthy = [name for name in HEALTHY for _ in range(-(-len(failing) // len(HEALTHY)))]
    chance.shuffle(healthy)
    for number, name in enumerate(healthy):
        story = _story(chance, f"well-{name.replace('_', '-')}-{number}", number)
        yield Labelled(HEALTHY[name](story), name, None)


def is_left_out(layout: Layout, failure: FailureClass) -> bool:
    """Whether the layout cannot say what the class is about."""
    return failure.name in layout.cannot or bool(failure.uses & layout.cannot.keys())


def _story(chance: random.Random, trace: str, number: int) -> Story:
    began = START + number * APART + chance.uniform(0.0, 10.0)
    story = Story(trace, random.Random(chance.random()), round(began, 3))
    story.model, story.agent = chance.choice(MODELS), chance.choice(AGENTS)
    return story


def write_files(layout: Layout, labelled: Sequence[Labelled], folder: Path) -> list[Path]:
    """Write the runs, interleaved by time, into two files: the later one comes first."""
    middle = sorted(one.story.began for one in labelled)[len(labelled) // 2]
    paths = []
    for name, late in (("a-later.jsonl", True), ("b-earlier.jsonl", False)):
        stories = [one.story for one in labelled if (one.story.began >= middle) is late]
        lines = sorted(
            (
                (at, number, line)
                for number, s in enumerate(stories)
                for at, line in layout.write(s)
            ),
            key=lambda one: one[0],
        )
        path = folder / name
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for _, _, line in lines)
        paths.append(path)
    return paths


def measure(layout: Layout, seed: int, runs: int, rules: Sequence[Rule]) -> Scores:
    """Write the corpus of a layout, diagnose it, and compare with the labels."""
    labelled = list(tell_runs(layout, seed, runs))
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(layout, labelled, Path(folder))
        report = diagnose(in_order_of_time(open_sources([str(path) for path in paths])), rules)
    for one in report.inputs:
        assert one.format == [layout.dialect], f"{one.source} was read as {one.format}"
    scores = Scores(runs=len(labelled))
    by_trace = {layout.trace_of(one.story): one for one in labelled}
    seen = {trace.trace_id: trace for trace in report.traces}
    for trace_id, one in by_trace.items():
        _score(scores, one, seen.pop(trace_id, None))
    for trace in seen.values():  # of no run that was written
        scores.on_wrong_traces += len(trace.findings())
        scores.findings += len({finding.rule for finding in trace.findings()})
        scores.mistakes.append(f"{trace.trace_id}: no such run")
    return scores


def _score(scores: Scores, one: Labelled, found: Diagnosis | None) -> None:
    told = {f.rule: f.severity for f in found.findings()} if found is not None else {}
    if one.failure is None:
        told = {rule: severity for rule, severity in told.items() if severity != "info"}
    true = one.failure.also | {one.failure.cause} | NEWS if one.failure is not None else frozenset()
    scores.findings += len(told)
    scores.true_findings += len(told.keys() & true)
    for rule in told.keys() - true:
        scores.mistakes.append(f"{one.story.trace}: {rule} ({told[rule]})")
    if one.failure is None:
        scores.on_wrong_traces += len(told)
        return
    scores.failing += 1
    scores.recalled += one.failure.cause in told
    if one.failure.cause not in told:
        scores.mistakes.append(f"{one.story.trace}: {one.failure.cause} is not found")
    cause = found.cause.rule if found is not None and found.cause is not None else None
    scores.right_causes += cause == one.failure.cause
    if cause != one.failure.cause:
        scores.mistakes.append(f"{one.story.trace}: cause {cause}, not {one.failure.cause}")


def main() -> None:
    """Print the figures of every layout and of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--runs", type=int, default=8, help="of every class and layout")
    parser.add_argument("--verbose", action="store_true", help="name every mistake")
    options = parser.parse_args()
    rules, total = load_rules(), Scores()
    print(f"{'layout':18} classes   runs  recall  precision  wrong traces  right causes")
    for name, layout in LAYOUTS.items():
        scores = measure(layout, options.seed, options.runs, rules)
        classes = sum(not is_left_out(layout, failure) for failure in FAILURES)
        _print_row(name, str(classes), scores)
        shown = scores.mistakes if options.verbose else []
        for mistake, times in Counter(shown).items():
            print(f"    {mistake}" + (f" ({times} times)" if times > 1 else ""))
        total.add(scores)
    _print_row("all", str(len(FAILURES)), total)


def _print_row(name: str, classes: str, scores: Scores) -> None:
    print(
        f"{name:18} {classes:>7} {scores.runs:6} {scores.recall:7.2%} {scores.precision:10.2%}"
        f" {scores.on_wrong_traces:13} {scores.causes:13.2%}"
    )


if __name__ == "__main__":
    main()
