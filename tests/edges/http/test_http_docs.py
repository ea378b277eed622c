"""The document names what is served, with its bounds."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry
from starlette.applications import Starlette

from lastsignal.edges.http import HttpSettings, filters, guard, server, status
from lastsignal.edges.http.application import make_application

from .conftest import InMemoryStatus

DOCUMENT = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")


def test_the_document_lists_every_route_with_its_method() -> None:
    guarded = make_application(
        InMemoryStatus(), CollectorRegistry(), HttpSettings(), lambda error: None
    )
    application = guarded._app  # type: ignore[attr-defined]
    assert isinstance(application, Starlette)

    for route in application.routes:
        method = "POST" if "POST" in route.methods else "GET"  # type: ignore[attr-defined]
        assert f"`{method} {route.path}`" in DOCUMENT  # type: ignore[attr-defined]


def test_the_document_names_every_filter_and_bound() -> None:
    for name in filters.FILTERS:
        assert f"`{name}`" in DOCUMENT
    assert (
        f"`limit` is {filters.DEFAULT_LIMIT} unless said, at most {filters.MAX_LIMIT}" in DOCUMENT
    )
    assert f"`{status.DEFAULT_LISTEN}`" in DOCUMENT
    assert f"over {guard.MAX_HEAD_BYTES // 1024} KiB of headers" in DOCUMENT
    assert f"more than {HttpSettings().max_connections} connections" in DOCUMENT
    assert f"within {server.IDLE_SECONDS:.0f} seconds" in DOCUMENT
    assert server.ANSWER_SECONDS == 60.0
