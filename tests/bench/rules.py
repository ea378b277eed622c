"""What rules cost: compiling them, testing them, and running many instead of few.

Run it with `python tests/bench/rules.py`. Rules beyond the built-in ones are copies of them with
ids and operations of their own, as an installation that has grown would have.
"""

from __future__ import annotations

import argparse
import copy
import gc
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import corpus

from lastsignal.app import diagnose
from lastsignal.core.engine import Engine
from lastsignal.core.rules import Rule, parse_rule
from lastsignal.core.ruletest import run_cases
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import builtin_rules, load_rules

FEW, MANY = 36, 200


def raw_rules(count: int) -> list[dict[str, Any]]:
    """Return that many rules as plain data: the built-in ones, then changed copies of them."""
    files = sorted(builtin_rules().glob("*.yaml"))
    built_in = [yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader) for path in files]
    rules = []
    for number in range(count):
        raw = copy.deepcopy(built_in[number % len(built_in)])
        turn = number // len(built_in)
        if turn:
            raw["id"] = f"{raw['id']}_{turn}"
            raw["where"] = {"all": [raw.get("where") or {}, {"operation": f"team_tool_{turn}"}]}
        rules.append(raw)
    return rules


def parsed(raws: Sequence[dict[str, Any]]) -> list[Rule]:
    """Parse rules; copies may be wrong in what they explain, not in themselves."""
    told: list[tuple[str, str, str]] = []
    rules = [parse_rule(raw, lambda *one: told.append(one)) for raw in raws]
    assert not told, told[:3]
    return [rule for rule in rules if rule is not None]


def spread(work: Callable[[], object], rounds: int) -> str:
    """Return median, least and most of the processor time in milliseconds."""
    times = [timed(work) * 1000 for _ in range(rounds)]
    return f"{statistics.median(times):6.1f} ms ({min(times):.1f} to {max(times):.1f})"


def timed(work: Callable[[], object]) -> float:
    """Return the processor time of one call, its garbage apart."""
    gc.collect()
    gc.disable()
    began = process_time()
    work()
    took = process_time() - began
    gc.enable()
    return took


def throughput(path: Path, few: list[Rule], many: list[Rule], rounds: int) -> None:
    """Print how much slower many rules are, over one file, in turn."""
    ratios, rates = [], []
    for _ in range(rounds):
        times = [
            timed(lambda rules=rules: diagnose(open_sources([str(path)]), rules))
            for rules in (few, many)
        ]
        ratios.append(times[0] / times[1])
        rates.append(times)
    events = sum(1 for _ in path.open("rb"))
    shown = [f"{events / statistics.median(column):,.0f}" for column in zip(*rates, strict=True)]
    ratio = statistics.median(ratios)
    print(f"events a second with {len(few)} rules {shown[0]}, with {len(many)} {shown[1]}")
    print(f"  the same speed: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}, bound 0.70)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for count in (60, MANY):
        raws = raw_rules(count)
        rules = parsed(raws)
        parse, build = lambda raws=raws: parsed(raws), lambda rules=rules: Engine(rules)
        both = spread(lambda raws=raws: Engine(parsed(raws)), options.rounds)
        print(f"{count} rules: parse {spread(parse, options.rounds)}")
        print(f"{count} rules: engine {spread(build, options.rounds)}")
        print(f"{count} rules: both {both}" + ("   (bound 100)" if count == MANY else ""))
    print(f"loading the built-in files: {spread(load_rules, options.rounds)}")
    built_in = load_rules()
    cases = sum(len(rule.text.tests) for rule in built_in)
    tests = spread(lambda: [run_cases(rule) for rule in built_in], 3)
    print(f"rules test, {len(built_in)} rules, {cases} cases: {tests}   (bound 5000)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plain.jsonl")
        corpus.write(path, options.events)
        throughput(path, parsed(raw_rules(FEW)), parsed(raw_rules(MANY)), options.rounds)


if __name__ == "__main__":
    main()
