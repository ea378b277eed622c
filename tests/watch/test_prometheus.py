"""A real Prometheus scrapes the daemon, and a real Alertmanager is told by it."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from watch.kit import Receiver, failure, free_port, record, wait_for, watching, write

pytestmark = pytest.mark.external


def needs(program: str) -> pytest.MarkDecorator:
    reason = f"{program} is missing: apt-get install prometheus prometheus-alertmanager"
    return pytest.mark.skipif(shutil.which(program) is None, reason=reason)


@contextmanager
def running(root: Path, *command: str) -> Iterator[None]:
    """Run a program, and end it afterwards."""
    with (root / f"{command[0]}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=root)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def ask(url: str) -> Any:
    """Return the JSON at an address; None while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


@needs("prometheus")
def test_a_real_prometheus_scrapes(tmp_path: Path) -> None:
    port = free_port()
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"), failure("s"))
        (tmp_path / "prometheus.yml").write_text(
            "scrape_configs:\n- job_name: lastsignal\n  scrape_interval: 200ms\n"
            "  scrape_timeout: 200ms\n"
            f"  static_configs: [{{targets: ['127.0.0.1:{daemon.port}']}}]\n"
        )
        options = [
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with running(tmp_path, "prometheus", *options):

            def value(query: str) -> list[str]:
                found = ask(f"http://127.0.0.1:{port}/api/v1/query?query={quote(query)}")
                return [one["value"][1] for one in found["data"]["result"]] if found else []

            wait_for(lambda: value('lastsignal_findings_total{rule="fails"}') == ["2"], "findings")
            assert value("up") == ["1"]
            assert value("lastsignal_open_incidents{severity='critical'}") == ["2"]
            assert value("sum(lastsignal_events_total)") == ["2"]


@needs("promtool")
def test_promtool_has_nothing_to_say_of_the_metrics(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        lines = [failure("r"), record("r", "model_call", "gpt", "completed", model="gpt")]
        write(daemon.traces / "a.jsonl", *lines, b"no json\n")
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
        _, text = daemon.get("/metrics")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@needs("prometheus-alertmanager")
@pytest.mark.timeout(120)
def test_a_real_alertmanager_receives_groups_and_resolves(
    tmp_path: Path, receiver: Receiver
) -> None:
    port = free_port()
    (tmp_path / "alertmanager.yml").write_text(
        "route:\n  receiver: hook\n  group_by: [rule]\n  group_wait: 3s\n  group_interval: 1s\n"
        "receivers:\n- name: hook\n  webhook_configs:\n"
        f"  - url: {receiver.url}/grouped\n    send_resolved: true\n"
    )
    options = [
        f"--config.file={tmp_path}/alertmanager.yml",
        f"--storage.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    config = f'[alertmanager]\nurls = ["http://127.0.0.1:{port}"]\n[incidents]\nresolve_after = 8\n'
    alerts = f"http://127.0.0.1:{port}/api/v2/alerts"
    with (
        running(tmp_path, "prometheus-alertmanager", *options),
        watching(tmp_path, config) as daemon,
    ):
        wait_for(lambda: ask(alerts) is not None, "Alertmanager")
        write(daemon.traces / "a.jsonl", failure("r"), failure("s"))
        found = wait_for(lambda: len(ask(alerts) or []) == 2 and ask(alerts), "two alerts")
        labels = [one["labels"] for one in found]
        assert sorted(one["trace_id"] for one in labels) == ["r", "s"]
        assert {one["alertname"] for one in labels} == {"fails"}
        assert '"error_message": "boom"' in found[0]["annotations"]["evidence"]
        daemon.kill()
        daemon.start().ready()
        firing = wait_for(lambda: receiver.at("/grouped"), "the group")[0].body
        assert len(firing["alerts"]) == 2
        wait_for(lambda: receiver.at("/grouped")[-1].body["status"] == "resolved", "the end", 60)
