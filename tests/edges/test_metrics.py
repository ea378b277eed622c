"""What is counted is exposed: bounded, from zero, and in Prometheus's own manners."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import Event
from lastsignal.edges.metrics import Metrics, TailFigures
from lastsignal.edges.metrics.series import (
    MAX_LABEL_CHARS,
    MAX_NAMES,
    Counter,
    Definition,
    Gauge,
    Histogram,
)
from lastsignal.edges.rulefiles import load_rules

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
PROMTOOL = shutil.which("promtool")


@pytest.fixture
def metrics() -> Metrics:
    """Return metrics with a registry of their own, at 1,000 seconds."""
    return Metrics(CollectorRegistry(), "1.2.3", clock=lambda: 1000.0)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """Return a sample's value."""
    return metrics.registry.get_sample_value(f"lastsignal_{name}", labels)


def event(kind: str = "tool_result", **fields: Any) -> Event:
    """Return an event of some framework."""
    return Event(**{"event_type": kind, "status": "completed", "framework": "native", **fields})


def small(kind: type[Any], *, limit: int = 2, is_open: bool = True) -> tuple[Any, list[str]]:
    """Return a metric with two labels and room for few, and the names that have spilt."""
    spilt: list[str] = []
    definition = Definition(
        "x_total", "X.", ("name", "side"), ("name",) if is_open else (), limit, (1.0, 2.0)
    )
    return kind(definition, "test_", CollectorRegistry(), spilt.append), spilt


# -- events ----------------------------------------------------------------------------------------


def test_events_are_counted_by_type_status_and_framework(metrics: Metrics) -> None:
    metrics.events([event(), event(), event("tool_call", status=None, framework=None)])
    metrics.events([event()])

    labels = {"event_type": "tool_result", "status": "completed", "framework": "native"}
    assert value(metrics, "events_total", **labels) == 3
    labels = {"event_type": "tool_call", "status": "none", "framework": "none"}
    assert value(metrics, "events_total", **labels) == 1


def test_only_events_that_failed_count_as_failures(metrics: Metrics) -> None:
    metrics.events(
        [
            event(status="failed", error_class="timeout"),
            event(status="aborted", error_class="cancelled"),
        ]
    )

    assert value(metrics, "failed_events_total", error_class="timeout") == 1
    assert value(metrics, "failed_events_total", error_class="cancelled") == 0


def test_tokens_and_cost_are_counted_by_model(metrics: Metrics) -> None:
    spent = {"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.25}
    metrics.events([event("model_call", model="m", **spent), event("model_call", operation="m")])
    metrics.events([event("model_call", model="m", **spent), event("agent_end", **spent)])

    assert value(metrics, "tokens_total", model="m", direction="input") == 200
    assert value(metrics, "tokens_total", model="m", direction="output") == 40
    assert value(metrics, "cost_usd_total", model="m") == 0.5


def test_latencies_are_counted_where_a_call_ends(metrics: Metrics) -> None:
    metrics.events(
        [
            event("model_call", model="m", duration_seconds=3.0),
            event("model_call", model="m", duration_seconds=3.0, status="started"),
            event("tool_result", operation="bash", duration_seconds=0.05),
            event("tool_result", operation="bash", duration_seconds=2000.0),
        ]
    )

    name = "model_call_duration_seconds"
    assert value(metrics, f"{name}_count", model="m") == 1
    assert value(metrics, f"{name}_bucket", model="m", le="2.5") == 0
    assert value(metrics, f"{name}_bucket", model="m", le="5.0") == 1
    name = "tool_call_duration_seconds"
    assert value(metrics, f"{name}_bucket", operation="bash", le="0.05") == 1
    assert value(metrics, f"{name}_bucket", operation="bash", le="+Inf") == 2
    assert value(metrics, f"{name}_sum", operation="bash") == 2000.05


@pytest.mark.parametrize("figure", [nan, inf, -inf, -1.0])
def test_figures_that_cannot_be_spoil_no_total(metrics: Metrics, figure: float) -> None:
    metrics.events(
        [
            event("model_call", model="m", cost_usd=figure, duration_seconds=figure),
            event("model_call", model="m", input_tokens=-5, output_tokens=-5),
            event("tool_result", operation="bash", duration_seconds=figure),
        ]
    )

    assert value(metrics, "cost_usd_total", model="m") is None
    assert value(metrics, "tokens_total", model="m", direction="input") is None
    assert value(metrics, "model_call_duration_seconds_count", model="m") is None
    assert value(metrics, "tool_call_duration_seconds_count", operation="bash") is None


# -- labels ----------------------------------------------------------------------------------------


def test_operations_beyond_the_limit_are_counted_as_other(metrics: Metrics) -> None:
    more = 50
    metrics.events(
        [event(operation=f"op{n}", duration_seconds=1.0) for n in range(MAX_NAMES + more)]
    )

    name = "tool_call_duration_seconds"
    assert value(metrics, f"{name}_count", operation="op0") == 1
    assert value(metrics, f"{name}_count", operation=f"op{MAX_NAMES}") is None
    assert value(metrics, f"{name}_count", operation="other") == more
    assert value(metrics, "label_overflow_total", metric=f"lastsignal_{name}") == more


def test_only_the_open_label_becomes_other() -> None:
    counter, spilt = small(Counter)
    for name in "abcd":
        counter.add(1, name, "left")
    counter.add(5, "a", "left")

    assert counter.values == {("a", "left"): 6, ("b", "left"): 1, ("other", "left"): 2}
    assert spilt == ["test_x_total", "test_x_total"]


def test_without_an_open_label_all_become_other() -> None:
    counter, _ = small(Counter, is_open=False)
    for name in "abc":
        counter.add(1, name, "left")

    assert ("other", "other") in counter.values


def test_a_million_names_need_no_memory() -> None:
    counter, spilt = small(Counter, limit=10)
    for number in range(10_000):
        counter.add(1, f"name {number}", "left")

    assert len(counter.values) == 11
    assert len(counter._cleaned) <= 20
    assert len(spilt) == 9_990


def test_names_that_are_shown_alike_are_counted_together() -> None:
    counter, _ = small(Counter, limit=10)
    counter.add(1, None, "left")
    counter.add(1, "", "left")
    counter.add(1, "x" * 1000, "left")
    counter.add(1, "x" * 2000, "left")

    assert counter.values == {("none", "left"): 2, ("x" * MAX_LABEL_CHARS, "left"): 2}


def test_a_wrong_number_of_labels_is_a_fault_of_ours() -> None:
    counter, _ = small(Counter)
    with pytest.raises(ValueError, match="test_x_total has the labels"):
        counter.add(1, "a")


@pytest.mark.parametrize("name", ["\ud800", 'a"b\\c\nd', "\x00", "käse", "{le='1'}"])
def test_no_name_of_an_agent_breaks_the_exposition(metrics: Metrics, name: str) -> None:
    metrics.events([event(operation=name, duration_seconds=1.0)])
    metrics.finding(name, "warning", name)

    assert generate_latest(metrics.registry)
    families = [*parse(generate_openmetrics(metrics.registry).decode())]
    (family,) = [one for one in families if one.name == "lastsignal_tool_call_duration_seconds"]
    assert family.samples[0].labels["operation"] == name.encode("utf-8", "replace").decode()


# -- gauges, totals, ages --------------------------------------------------------------------------


def test_a_gauge_that_is_replaced_forgets_what_is_gone() -> None:
    gauge, _ = small(Gauge)
    gauge.replace({("a", "left"): 1, ("b", "left"): 2, ("c", "left"): 3, ("d", "left"): 4})
    assert gauge.values == {("a", "left"): 1, ("b", "left"): 2, ("other", "left"): 7}

    gauge.replace({("d", "left"): 4})
    assert gauge.values == {("d", "left"): 4}


def test_a_total_that_is_counted_elsewhere_never_falls() -> None:
    counter, _ = small(Counter)
    counter.raise_to(5, "a", "left")
    counter.raise_to(3, "a", "left")

    assert counter.values == {("a", "left"): 5}


def test_a_histogram_counts_a_bound_in_its_own_bucket() -> None:
    histogram, _ = small(Histogram)
    histogram.observe_all([0.5, 1.0, 1.5, 2.0, 9.0], "a", "left")

    assert histogram.values["a", "left"].counts == [2, 2, 1]
    assert histogram.values["a", "left"].total == 14.0


def test_the_oldest_unsent_message_ages_by_itself(metrics: Metrics) -> None:
    metrics.notifying.expect({"chat": "apprise"})
    assert value(metrics, "notification_oldest_unsent_seconds", target="chat") == 0

    metrics.notifying.waiting("chat", 3, oldest_at=940.0)
    assert value(metrics, "notification_oldest_unsent_seconds", target="chat") == 60
    assert value(metrics, "notification_queue_messages", target="chat") == 3

    metrics.notifying.waiting("chat", 0, oldest_at=None)
    assert value(metrics, "notification_oldest_unsent_seconds", target="chat") == 0


def test_a_failed_reload_keeps_the_time_of_the_last_good_one(metrics: Metrics) -> None:
    metrics.reloading.done("rules", True, 900.0)
    metrics.reloading.done("rules", False, 950.0)

    assert value(metrics, "rules_last_reload_successful") == 0
    assert value(metrics, "rules_last_reload_success_timestamp_seconds") == 900.0
    assert value(metrics, "config_last_reload_successful") == 0


def test_a_commit_tells_its_length_and_time(metrics: Metrics) -> None:
    metrics.storing.committed(0.004, 990.0)

    assert value(metrics, "commit_duration_seconds_bucket", le="0.005") == 1
    assert value(metrics, "last_commit_timestamp_seconds") == 990.0


def test_the_tailer_s_figures_are_taken(metrics: Metrics) -> None:
    metrics.reading.stand(
        TailFigures(
            lag_bytes=10,
            lag_seconds=2.5,
            files=7,
            open_files=3,
            deleted_open_files=1,
            pending_files=2,
            is_polling=True,
        )
    )

    assert value(metrics, "tail_lag_bytes") == 10
    assert value(metrics, "tail_lag_seconds") == 2.5
    assert value(metrics, "tail_deleted_open_files") == 1
    assert value(metrics, "tail_polling") == 1


# -- exposition ------------------------------------------------------------------------------------


def test_what_may_happen_is_shown_as_zero_before_it_does(metrics: Metrics) -> None:
    rules = load_rules()
    metrics.expect_rules(rules)
    metrics.notifying.expect({"chat": "apprise"})

    for error_class in ERROR_CLASSES:
        assert value(metrics, "failed_events_total", error_class=error_class) == 0
    for rule in rules:
        labels = {"rule": rule.id, "severity": rule.text.severity}
        assert value(metrics, "findings_total", **labels) == 0
        assert value(metrics, "incidents_opened_total", rule=rule.id) == 0
    for severity in ("info", "warning", "critical"):
        assert value(metrics, "open_incidents", severity=severity) == 0
    for outcome in ("sent", "failed", "retried", "suppressed", "dead"):
        labels = {"target": "chat", "kind": "apprise", "outcome": outcome}
        assert value(metrics, "notifications_total", **labels) == 0
    assert value(metrics, "rules") == len(rules)
    assert value(metrics, "label_overflow_total", metric="lastsignal_findings_total") == 0


def test_the_version_is_told(metrics: Metrics) -> None:
    assert 'lastsignal_build_info{python="3.' in generate_latest(metrics.registry).decode()
    assert 'version="1.2.3"} 1.0' in generate_latest(metrics.registry).decode()


def test_an_exemplar_leads_from_a_count_to_a_trace(metrics: Metrics) -> None:
    metrics.finding("retry_storm", "warning", "trace-1")
    metrics.finding("retry_storm", "warning", "t" * 1000)

    text = generate_openmetrics(metrics.registry).decode()
    assert re.search(
        r'findings_total\{rule="retry_storm",severity="warning"\} 2.0 # \{trace_id="t{64}"\} 1.0',
        text,
    )
    assert "trace_id" not in generate_latest(metrics.registry).decode()


def test_a_scrape_in_another_thread_meets_no_half_written_state(metrics: Metrics) -> None:
    failures: list[BaseException] = []
    done = threading.Event()

    def scrape() -> None:
        try:
            while not done.is_set():
                generate_latest(metrics.registry)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=scrape)
    thread.start()
    for number in range(20_000):
        metrics.events([event(framework=f"f{number % 3000}", operation=f"op{number}")])
    done.set()
    thread.join()

    assert failures == []


def full() -> Metrics:
    """Return metrics that all have a value."""
    metrics = Metrics(CollectorRegistry(), "1.2.3")
    metrics.expect_rules(load_rules())
    metrics.notifying.expect({"chat": "apprise"})
    metrics.events([event("model_call", model="m", input_tokens=1, cost_usd=1.0)])
    metrics.events([event(operation="bash", duration_seconds=1.0)])
    metrics.reading.skipped.add(1, "blank")
    metrics.reading.records.add(1, "native")
    metrics.reading.troubles.add(1, "truncated")
    metrics.judging.groups.set(1, "retry_storm")
    return metrics


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_has_nothing_to_say() -> None:
    assert PROMTOOL is not None
    said = subprocess.run(
        [PROMTOOL, "check", "metrics"],
        input=generate_latest(full().registry),
        capture_output=True,
        check=False,
    )

    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_openmetrics_parses_and_knows_the_units() -> None:
    families = {one.name: one for one in parse(generate_openmetrics(full().registry).decode())}

    assert families["lastsignal_read_bytes"].unit == "bytes"
    assert families["lastsignal_commit_duration_seconds"].unit == "seconds"
    assert families["lastsignal_events"].type == "counter"


def test_the_document_lists_every_metric_as_the_code_has_it() -> None:
    table = Metrics(CollectorRegistry(), "1").reference()

    assert table in DOCUMENT.read_text(encoding="utf-8"), f"write it into {DOCUMENT}:\n{table}"
