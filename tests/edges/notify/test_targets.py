"""Who is told of what, and what shows of where they are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest

from lastsignal.core.incidents import digest_of, rank
from lastsignal.edges.notify import Route, Secret, Target, route
from lastsignal.edges.notify.targets import shown_url

HIDDEN = "hunter2-hunter2"


class TestSecrets:
    def test_they_show_nowhere(self) -> None:
        target = Target(
            name="chat",
            url=Secret(f"slack://{HIDDEN}/x"),
            token=Secret(HIDDEN),
            password=Secret(HIDDEN),
        )

        for text in (repr(target), str(target), f"{target}", f"{target.url!s}", target.address):
            assert HIDDEN not in text
        assert target.url.reveal() == f"slack://{HIDDEN}/x"

    def test_they_are_written_nowhere(self) -> None:
        for write in (pickle.dumps, copy.deepcopy, msgspec.json.encode):
            with pytest.raises(TypeError):
                write(Secret(HIDDEN))

    def test_equal_ones_are_equal(self) -> None:
        assert Secret("a") == Secret("a") != Secret("b")
        assert len({Secret("a"), Secret("a")}) == 1

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            (
                f"https://user:{HIDDEN}@example.com:8443/{HIDDEN}?k={HIDDEN}",
                "https://example.com:8443",
            ),
            (f"json://example.com/{HIDDEN}", "json://example.com"),
            ("http://[::1]:9093/", "http://[::1]:9093"),
            (f"slack://{HIDDEN}/b/c", "slack://***"),
            (f"tgram://{HIDDEN}", "tgram://***"),
            (f"mailto://me:{HIDDEN}@example.com", "mailto://example.com"),
            (HIDDEN, "***"),
            (f"https://exam ple:{HIDDEN}", "***"),
            ("", "***"),
        ],
    )
    def test_of_an_address_no_more_shows_than_is_public(self, url: str, shown: str) -> None:
        assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("routes", "takes"),
    [
        ((), True),
        ((Route(),), True),
        ((Route(severity="warning"),), True),
        ((Route(severity="critical"),), True),
        ((Route(rules=("rate_limit_*",)),), True),
        ((Route(rules=("crash",)),), False),
        ((Route(rules=("crash",)), Route(severity="critical")), True),
        ((Route(rules=("rate_limit_*",), agents=("other",)),), False),
        ((Route(agents=("plan*",)),), True),
        ((Route(frameworks=("crewai", "langchain")),), True),
        ((Route(frameworks=("langchain",)),), False),
        ((Route(categories=("execution-error-*",)),), True),
    ],
)
def test_all_that_a_route_says_must_hold_and_one_route_must(
    kit: Any, routes: tuple[Route, ...], takes: bool
) -> None:
    assert kit.target("chat", routes=routes).takes(kit.incident()) is takes


def test_who_was_told_that_it_is_critical_is_told_of_its_end(kit: Any) -> None:
    target = kit.target("pager", routes=(Route(severity="critical"),))

    assert target.takes(kit.incident(severity="info", told_severity="critical"))
    assert rank("critical") > rank("warning")


class TestRouting:
    def test_each_target_gets_what_it_takes(self, kit: Any) -> None:
        targets = [
            kit.target("all"),
            kit.target("crashes", routes=(Route(rules=("crash",)),)),
            kit.target("quiet", send_resolved=False),
            kit.target("alerts", kind="alertmanager"),
        ]
        opened, resolved = kit.notice("a"), kit.notice("a", "resolved", state="resolved")

        routed = route([opened, resolved], targets)
        assert routed == [(opened, ["all", "quiet"]), (resolved, ["all"])]

    def test_a_storm_is_told_to_each_as_far_as_it_concerns_it(self, kit: Any) -> None:
        told = [
            ("opened", kit.incident(f"n{n}", rule="quota" if n else "crash")) for n in range(50)
        ]
        targets = [
            kit.target("all"),
            kit.target("crashes", routes=(Route(rules=("crash",)),)),
            kit.target("quotas", routes=(Route(rules=("quota",)),)),
            kit.target("nothing", routes=(Route(rules=("other",)),)),
        ]

        routed = {names[0]: notice for notice, names in route([digest_of(told, kit.T0)], targets)}
        assert sorted(routed) == ["all", "crashes", "quotas"]
        assert (routed["all"].total, len(routed["all"].incidents)) == (50, 20)
        assert (routed["quotas"].total, routed["quotas"].by_rule) == (49, {"quota": 49})
        assert (routed["crashes"].kind, routed["crashes"].total) == ("opened", 1)
        assert len(msgspec.msgpack.encode(routed["all"])) < 32_768
