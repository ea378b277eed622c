"""A daemon that stands as a test says, and a real server for it on a free port of loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import pytest
from prometheus_client import CollectorRegistry, Gauge

from lastsignal.core.addresses import Address
from lastsignal.core.incidents import Incident
from lastsignal.edges.http import HttpSettings, serve

Fact = str | int | float | bool | None


@dataclass
class InMemoryStatus:
    """A daemon that stands as it is told."""

    version: str = "1.2.3"
    reasons: list[str] = field(default_factory=list)
    held: list[Incident] = field(default_factory=list)
    told: dict[str, Fact] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    reloads: int = 0
    fault: Exception | None = None

    def not_ready(self) -> Sequence[str]:
        return self.reasons

    def incidents(self) -> Sequence[Incident]:
        if self.fault is not None:
            raise self.fault
        return self.held

    def facts(self) -> Mapping[str, Fact]:
        return self.told

    async def reload(self) -> Sequence[str]:
        self.reloads += 1
        await anyio.sleep(0)
        return self.problems


@dataclass
class Running:
    """A server that runs."""

    address: Address
    status: InMemoryStatus
    registry: CollectorRegistry
    client: httpx.AsyncClient
    faults: list[Exception]


Serve = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def anyio_backend() -> str:
    """Return the backend that the daemon runs on."""
    return "asyncio"


@pytest.fixture
def status() -> InMemoryStatus:
    """Return a daemon that is all right."""
    return InMemoryStatus()


@pytest.fixture
def running(status: InMemoryStatus) -> Serve:
    """Return a way to run a server with other settings than the default ones."""

    @asynccontextmanager
    async def run(verify: Any = True, **settings: Any) -> AsyncIterator[Running]:
        registry = CollectorRegistry()
        Gauge("lastsignal_test", "A test.", registry=registry).set(7)
        faults: list[Exception] = []
        settings = {"listen": Address("127.0.0.1", 0), **settings}
        scheme = "https" if settings.get("tls_cert") else "http"
        async with anyio.create_task_group() as tasks:

            async def start(*, task_status: Any) -> None:
                await serve(
                    HttpSettings(**settings),
                    status,
                    registry,
                    on_fault=faults.append,
                    task_status=task_status,
                )

            address = await tasks.start(start)
            async with httpx.AsyncClient(
                base_url=f"{scheme}://{address}", verify=verify, trust_env=False
            ) as client:
                yield Running(address, status, registry, client, faults)
            tasks.cancel_scope.cancel()

    return run


@pytest.fixture
async def server(running: Serve) -> AsyncIterator[Running]:
    """Return a server with default settings."""
    async with running() as one:
        yield one


@pytest.fixture
def incident() -> Callable[..., Incident]:
    """Return a way to make incidents."""

    def make(number: int = 1, **fields: Any) -> Incident:
        return Incident(
            **{
                "id": f"{number:012x}",
                "rule": "retry_storm",
                "severity": "warning",
                "category": "execution-error",
                "trace_id": f"trace-{number}",
                "title": "Retry storm",
                "summary": f"`search` was tried {number} times",
                "cause": "The tool is down.",
                "remedy": "Repair it.",
                "group": {"trace_id": f"trace-{number}", "operation": "search"},
                "count": number,
                "first_seen": 100.0 + number,
                "last_seen": 200.0 + number,
                "opened_at": 1000.0 + number,
                "updated_at": 1000.0 + number,
                **fields,
            }
        )

    return make
