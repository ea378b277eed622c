"""Serving: one socket, bounded connections, no patience with who is slow on purpose."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable

import anyio
import uvicorn
from anyio.abc import TaskStatus
from prometheus_client import CollectorRegistry
from uvicorn.protocols.http.h11_impl import H11Protocol

from lastsignal.core.addresses import Address
from lastsignal.edges.http.application import make_application
from lastsignal.edges.http.guard import MAX_HEAD_BYTES
from lastsignal.edges.http.status import HttpError, HttpSettings, Status, check_protection

IDLE_SECONDS = 15.0
"""How long a connection may take until its next request is complete."""
ANSWER_SECONDS = 60.0
"""How long an answer may take until it is received."""
GRACE_SECONDS = 2
"""How long answers under way may take when the server stops."""
LOOK_SECONDS = 1.0  # between looks at how long a connection has been at something


def log_fault(error: Exception) -> None:
    """Log an error that nobody has caught."""
    logging.getLogger(__name__).error("a request met a fault of Last Signal", exc_info=error)


async def serve(
    settings: HttpSettings,
    status: Status,
    registry: CollectorRegistry,
    *,
    on_fault: Callable[[Exception], None] = log_fault,
    task_status: TaskStatus[Address] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled: `address = await tasks.start(serve, settings, status, registry)`.

    Raises:
        HttpError: the address is taken, is not protected, or TLS cannot be set up.
    """
    check_protection(settings)
    tls = _tls(settings)
    bound = bind(settings.listen)
    config = uvicorn.Config(
        make_application(status, registry, settings, on_fault),
        http=ImpatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # what others send wrongly is not our news; faults are told above
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=settings.max_connections,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    config.ssl = tls
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[bound])
    name = bound.getsockname()
    task_status.started(Address(str(name[0]), int(name[1])))
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await server.shutdown(sockets=[bound])


def bind(address: Address) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        HttpError: it cannot.
    """
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise HttpError(f"{address}: no such host: {error.strerror}; check `listen`") from None
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(target)
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise HttpError(f"{address}: {_in_words(error)}") from None
    bound.setblocking(False)
    return bound


def _in_words(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use; stop who uses it, or set another in `listen` of [http]"
    if error.errno == errno.EACCES:
        return "this port is for root alone; set one from 1024 in `listen` of [http]"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address; check `listen` of [http]"
    return f"cannot be listened on: {error.strerror}; check `listen` of [http]"


def _tls(settings: HttpSettings) -> ssl.SSLContext | None:
    if settings.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=_no_password)
    except ssl.SSLError as error:
        raise HttpError(
            f"{settings.tls_cert}: no certificate and key in PEM that belong together:"
            f" {error.reason or error}; check `tls_cert` and `tls_key` of [http]"
        ) from None
    except OSError as error:
        raise HttpError(
            f"{settings.tls_cert} and {settings.tls_key} cannot be read: {error.strerror};"
            " check `tls_cert` and `tls_key` of [http]"
        ) from None
    return context


def _no_password() -> str:
    """Keep OpenSSL from asking a terminal: a key with a password is refused."""
    return ""


class ImpatientProtocol(H11Protocol):
    """Closes connections that bring no request in time, or take no answer in time.

    uvicorn waits for both for ever, so that a few slow clients could take all connections.
    """

    _timer: asyncio.TimerHandle | None = None
    _phase: tuple[object, bool] = (None, False)
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Take a connection."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        answers = self.cycle is not None and not self.cycle.response_complete
        phase, now = (self.cycle, answers), self.loop.time()
        if phase != self._phase:
            self._phase, self._since = phase, now
        elif now - self._since > (ANSWER_SECONDS if answers else IDLE_SECONDS):
            self.transport.abort()
            return
        self._timer = self.loop.call_later(LOOK_SECONDS, self._look)
