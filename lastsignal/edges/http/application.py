"""What is answered: metrics, health, reload, incidents, status."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lastsignal.edges.http.filters import Filter, FilterError, told
from lastsignal.edges.http.guard import FAULT, Guard
from lastsignal.edges.http.page import render_page
from lastsignal.edges.http.status import HttpSettings, Status

MAX_SCRAPES = 2  # at one time: each may take a second of a core; others wait
_GZIP_LEVEL = 1


def make_application(
    status: Status,
    registry: CollectorRegistry,
    settings: HttpSettings,
    on_fault: Callable[[Exception], None],
) -> ASGIApp:
    """Return the application.

    Args:
        status: how the daemon stands.
        registry: its metrics.
        settings: who may ask for what.
        on_fault: told of errors that are a fault of ours.
    """
    answers = _Answers(status, registry, settings)
    routes = [
        Route("/", answers.page),
        Route("/metrics", answers.metrics),
        *(Route(path, answers.healthy) for path in ("/-/healthy", "/healthz")),
        *(Route(path, answers.ready) for path in ("/-/ready", "/readyz")),
        Route("/-/reload", answers.reload, methods=["POST"]),
        Route("/api/v1/incidents", answers.incidents),
        Route("/api/v1/status", answers.status),
    ]
    application = Starlette(routes=routes, exception_handlers={Exception: _fault})
    application.router.redirect_slashes = False  # the target would name whatever host was asked
    return Guard(application, settings, on_fault)


class _Answers:
    def __init__(self, status: Status, registry: CollectorRegistry, settings: HttpSettings) -> None:
        self._status = status
        self._registry = registry
        self._settings = settings
        self._scrapes = anyio.CapacityLimiter(MAX_SCRAPES)
        self._reloading = anyio.Lock()

    async def page(self, request: Request) -> Response:
        """Show how the daemon stands."""
        return HTMLResponse(render_page(self._status, time.time()))

    async def metrics(self, request: Request) -> Response:
        """Return the metrics as Prometheus text or OpenMetrics."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        packed = "gzip" in request.headers.get("accept-encoding", "")
        write = partial(_exposition, encode, self._registry, packed)
        body = await anyio.to_thread.run_sync(write, limiter=self._scrapes)
        headers = {"content-type": content_type, "vary": "accept, accept-encoding"}
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(body, headers=headers)

    async def healthy(self, request: Request) -> Response:
        """Say that the event loop turns."""
        return PlainTextResponse("healthy\n")

    async def ready(self, request: Request) -> Response:
        """Say whether all is well; why not, only to who may know."""
        reasons = self._status.not_ready()
        if not reasons:
            return PlainTextResponse("ready\n")
        may_know = request.scope["lastsignal.authorised"]
        text = "".join(f"{reason}\n" for reason in reasons) if may_know else "not ready\n"
        return PlainTextResponse(text, 503)

    async def reload(self, request: Request) -> Response:
        """Read rules and configuration again."""
        if not self._settings.reload:
            return PlainTextResponse("off; set `reload` of [http], or send SIGHUP\n", 403)
        async with self._reloading:
            problems = await self._status.reload()
        if problems:
            return PlainTextResponse("".join(f"{problem}\n" for problem in problems), 500)
        return PlainTextResponse("reloaded\n")

    async def incidents(self, request: Request) -> Response:
        """Return incidents, the worst and latest first."""
        try:
            wanted = Filter.parse(request.query_params)
        except FilterError as error:
            return _json({"error": str(error)}, 400)
        found, total = wanted.apply(self._status.incidents())
        return _json({"total": total, "incidents": [told(one) for one in found]})

    async def status(self, request: Request) -> Response:
        """Return how the daemon stands."""
        reasons = list(self._status.not_ready())
        return _json(
            {
                "version": self._status.version,
                "ready": not reasons,
                "reasons": reasons,
                "facts": self._status.facts(),
            }
        )


def _fault(request: Request, error: Exception) -> Response:
    return PlainTextResponse(FAULT, 500)


def _json(value: object, status_code: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code, media_type="application/json")


def _exposition(encode: Callable[[Any], bytes], registry: CollectorRegistry, packed: bool) -> bytes:
    body = encode(registry)
    return gzip.compress(body, _GZIP_LEVEL) if packed else body
