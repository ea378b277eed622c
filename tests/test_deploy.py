"""What is shipped for operators is true: alerts, dashboard, image and manifests fit the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from lastsignal.edges.config import load_config
from lastsignal.edges.config.environment import variables
from lastsignal.edges.http.guard import HEALTH
from lastsignal.edges.metrics import Metrics

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
ALERTS = DEPLOY / "prometheus-alerts.yml"
ALERT_TESTS = DEPLOY / "prometheus-alerts-test.yml"
DASHBOARD = DEPLOY / "grafana-dashboard.json"
KUBERNETES = DEPLOY / "kubernetes"
DOCKERFILE = DEPLOY / "Dockerfile"

PROMTOOL, KUBECTL = shutil.which("promtool"), shutil.which("kubectl")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)"
)
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")


def load(path: Path) -> Any:
    """Return what a YAML file says."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def samples() -> dict[str, set[str]]:
    """Return every name of a sample that the daemon may expose, with its labels."""
    metrics = Metrics(CollectorRegistry(), "1")
    names: dict[str, set[str]] = {}
    for called, one in metrics.definitions:
        labels = {*one.labels, "le"} if called == "histogram" else {*one.labels}
        endings = ("_bucket", "_sum", "_count") if called == "histogram" else ("",)
        names.update({f"lastsignal_{one.name}{ending}": labels for ending in endings})
    return names


def expressions() -> Iterator[tuple[str, str]]:
    """Yield every expression over metrics that is shipped, with where it stands."""
    for group in load(ALERTS)["groups"]:
        yield from ((rule["alert"], rule["expr"]) for rule in group["rules"])
    for panel in json.loads(read(DASHBOARD))["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", []))


# -- Prometheus and Grafana ------------------------------------------------------------------------


@needs_promtool
@pytest.mark.parametrize("arguments", [("check", ALERTS), ("test", ALERT_TESTS)])
def test_promtool_accepts_the_alert_rules_and_their_tests(arguments: tuple[str, Path]) -> None:
    assert PROMTOOL is not None
    verb, path = arguments
    said = subprocess.run(
        [PROMTOOL, verb, "rules", path.name],
        cwd=DEPLOY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 0, said.stdout + said.stderr
    assert "SUCCESS" in said.stdout


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    alerts = {rule["alert"] for group in load(ALERTS)["groups"] for rule in group["rules"]}
    fired = {
        case["alertname"]
        for test in load(ALERT_TESTS)["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }

    assert fired == alerts


def test_every_alert_says_what_to_do() -> None:
    for group in load(ALERTS)["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("warning", "critical")
            assert set(rule["annotations"]) == {"summary", "description"}
            assert rule["annotations"]["description"].endswith(".")


def test_every_expression_uses_metrics_and_labels_that_exist(samples: dict[str, set[str]]) -> None:
    for where, expression in expressions():
        for name, matchers in re.findall(r"\b(lastsignal_\w+)(?:\{([^}]*)\})?", expression):
            assert name in samples, f"{where}: {name}"
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers):
                assert label in samples[name] | {"instance", "job"}, f"{where}: {name}{{{label}}}"


def test_every_grouping_is_by_labels_that_exist(samples: dict[str, set[str]]) -> None:
    known = set().union(*samples.values()) | {"instance"}
    for where, expression in expressions():
        for labels in re.findall(r"\bby \(([^)]*)\)", expression):
            assert {one.strip() for one in labels.split(",")} <= known, where


def test_the_values_that_alerts_look_for_exist(samples: dict[str, set[str]]) -> None:
    from lastsignal.core.error_classes import ERROR_CLASSES
    from lastsignal.core.events import EVENT_TYPES, STATUSES
    from lastsignal.core.rules import SEVERITIES
    from lastsignal.edges.metrics.catalog import Notifying
    from lastsignal.edges.tailer.trouble import TroubleKind

    known = {
        "error_class": set(ERROR_CLASSES),
        "event_type": set(EVENT_TYPES),
        "status": set(STATUSES),
        "severity": set(SEVERITIES),
        "outcome": set(Notifying.OUTCOMES),
        "kind": {kind.value for kind in TroubleKind},
    }
    for where, expression in expressions():
        for label, values in re.findall(r'(\w+)=~?"([^"$]*)"', expression):
            if label in known:
                assert set(values.split("|")) <= known[label], where


def test_the_dashboard_is_one_that_grafana_can_lay_out() -> None:
    dashboard = json.loads(read(DASHBOARD))
    panels = dashboard["panels"]

    assert dashboard["uid"] == "lastsignal"
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (place["x"] + dx, place["y"] + dy)
            for dx in range(place["w"])
            for dy in range(place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, f"{panel['title']} overlaps another panel"
        taken |= cells
        if panel["type"] != "row":
            assert panel["targets"], panel["title"]
            assert panel["datasource"]["uid"] == "${datasource}"


@needs_promtool
def test_every_expression_of_the_dashboard_is_valid_promql(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    given = {"$__rate_interval": "5m", "$__range": "1h", "$instance": ".*", "$job": ".*"}
    rules = []
    for number, (_, expression) in enumerate(expressions()):
        for name, value in given.items():
            expression = expression.replace(name, value)
        rules.append({"record": f"panel:{number}", "expr": expression})
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    said = subprocess.run(
        [PROMTOOL, "check", "rules", str(path)], capture_output=True, text=True, check=False
    )

    assert said.returncode == 0, said.stdout + said.stderr


# -- the image -------------------------------------------------------------------------------------


def instructions(name: str) -> list[str]:
    """Return the arguments of a Dockerfile's instruction, in their order."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", read(DOCKERFILE), flags=re.MULTILINE))
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)


def test_the_image_is_slim_and_runs_as_nobody_in_particular() -> None:
    froms = instructions("FROM")

    assert all(re.match(r"python:3\.\d+-slim( |$)", one) for one in froms)
    assert instructions("USER") == ["65532:65532"]
    assert read(DOCKERFILE).rindex("\nUSER ") > read(DOCKERFILE).rindex("\nRUN ")


def test_the_image_starts_the_daemon_without_a_shell() -> None:
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["lastsignal"]
    assert json.loads(instructions("CMD")[0]) == ["watch"]


def test_what_the_image_is_built_from_exists_and_is_not_ignored() -> None:
    allowed = {
        line.removeprefix("!")
        for line in read(DEPLOY / "Dockerfile.dockerignore").splitlines()
        if line.startswith("!")
    }
    for copied in instructions("COPY"):
        words = copied.split()
        if words[0].startswith("--from"):
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists()
            assert source in allowed


def test_the_package_needs_no_more_than_the_image_copies() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))
    copied = {word for one in instructions("COPY") for word in one.split()[:-1]}

    assert project["project"]["readme"] in copied
    assert set(project["project"]["license-files"]) <= copied
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]) <= copied


def test_the_variables_of_the_image_and_the_manifest_are_known() -> None:
    known = {name for name, _, _ in variables()}
    sidecar = sidecar_of(load(KUBERNETES / "agent.yaml"))
    used = set(re.findall(r"\bLASTSIGNAL_[A-Z_]+", read(DOCKERFILE)))

    assert used | {one["name"] for one in sidecar["env"]} <= known


# -- Kubernetes ------------------------------------------------------------------------------------


def sidecar_of(deployment: Any) -> Any:
    """Return the container of Last Signal."""
    (sidecar,) = deployment["spec"]["template"]["spec"]["initContainers"]
    return sidecar


@pytest.fixture
def pod() -> Any:
    """Return the pod of the example."""
    return load(KUBERNETES / "agent.yaml")["spec"]["template"]["spec"]


def test_it_is_a_native_sidecar_that_ends_after_the_agent(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    limits = load_kubernetes_config().limits

    assert sidecar["restartPolicy"] == "Always"
    assert pod["terminationGracePeriodSeconds"] > limits.drain_timeout + 30


def test_the_sidecar_can_do_no_harm(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    security = sidecar["securityContext"]

    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["runAsUser"] == int(instructions("USER")[0].partition(":")[0])


def test_probes_ask_what_needs_no_token_and_no_probe_unreadies_the_agent(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    ports = {one["name"]: one["containerPort"] for one in sidecar["ports"]}

    assert ports == {"metrics": load_kubernetes_config().http.listen.port}
    for name in ("startupProbe", "livenessProbe"):
        asked = sidecar[name]["httpGet"]
        assert asked["path"] in HEALTH
        assert asked["port"] in ports
    assert "readinessProbe" not in sidecar


def test_it_reads_what_the_agent_writes_and_writes_only_its_state(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    (agent,) = pod["containers"]
    mounts = {one["name"]: one for one in sidecar["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    config = load_kubernetes_config()

    assert set(mounts) == set(volumes)
    assert [name for name, one in mounts.items() if not one.get("readOnly")] == ["lastsignal-state"]
    assert mounts["lastsignal-state"]["mountPath"] == str(config.state_dir)
    assert [mounts["traces"]["mountPath"]] == [*config.inputs.paths]
    assert agent["volumeMounts"][0]["name"] == "traces"
    assert all("sizeLimit" in one["emptyDir"] for one in volumes.values() if "emptyDir" in one)


def load_kubernetes_config() -> Any:
    """Return the configuration of the example, as the container loads it."""
    loaded = load_config(
        KUBERNETES / "config.toml",
        environment={"LASTSIGNAL_HTTP_TOKEN": "x", "LASTSIGNAL_SERVICE_HOST": "10.0.0.1"},
    )
    assert loaded.warnings == []
    return loaded.config


def test_the_arguments_name_the_configuration_that_is_mounted(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    mounts = {one["name"]: one["mountPath"] for one in sidecar["volumeMounts"]}
    (generated,) = load(KUBERNETES / "kustomization.yaml")["configMapGenerator"]

    assert sidecar["args"] == [
        "watch",
        "--config",
        f"{mounts['lastsignal-config']}/{generated['files'][0]}",
    ]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert volumes["lastsignal-config"]["configMap"]["name"] == generated["name"]


def test_the_pod_monitor_scrapes_the_port_with_the_token_of_the_pod(pod: Any) -> None:
    (sidecar,) = pod["initContainers"]
    (endpoint,) = load(KUBERNETES / "podmonitor.yaml")["spec"]["podMetricsEndpoints"]
    secret = sidecar["env"][0]["valueFrom"]["secretKeyRef"]

    assert endpoint["port"] == sidecar["ports"][0]["name"]
    assert endpoint["authorization"]["credentials"] == secret


@needs_kubectl
def test_kustomize_builds_it() -> None:
    assert KUBECTL is not None
    said = subprocess.run(
        [KUBECTL, "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=False
    )
    if "unknown command" in said.stderr:
        pytest.skip("this kubectl has no kustomize")

    assert said.returncode == 0, said.stderr
    built = {one["kind"]: one for one in yaml.safe_load_all(said.stdout)}
    name = built["ConfigMap"]["metadata"]["name"]
    volumes = built["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "lastsignal-config", "configMap": {"name": name}} in volumes
    assert name.startswith("lastsignal-")
