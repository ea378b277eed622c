"""What stands before every request: who may ask, by which name, and what every answer carries."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lastsignal.edges.http.page import STYLE_HASH
from lastsignal.edges.http.status import HttpSettings

FAULT = "a fault of Last Signal, see its log\n"
MAX_HEAD_BYTES = 16 * 1024
HEALTH = frozenset({"/-/healthy", "/-/ready", "/healthz", "/readyz"})
"""Asked by supervisors, which carry no token."""

_ANSWER_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": f"default-src 'none'; style-src '{STYLE_HASH}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Wraps the application.

    Args:
        app: what answers.
        settings: who may ask.
        on_fault: told of an error that nobody has caught, which is a fault of ours.
    """

    def __init__(
        self, app: ASGIApp, settings: HttpSettings, on_fault: Callable[[Exception], None]
    ) -> None:
        self._app = app
        self._token = settings.token.encode() if settings.token is not None else None
        self._hosts = {"localhost", settings.listen.host.lower(), *map(str.lower, settings.hosts)}
        self._on_fault = on_fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                answer = MutableHeaders(scope=message)
                for name, value in _ANSWER_HEADERS.items():
                    answer[name] = value
                if "content-length" in headers or "transfer-encoding" in headers:
                    answer["connection"] = "close"  # no body is read, so none is waited for
            await send(message)

        answering: ASGIApp = self._refusal(scope, headers) or self._app
        try:
            await answering(scope, receive, send_guarded)
        except Exception as error:
            self._on_fault(error)
            if not started:
                await PlainTextResponse(FAULT, 500)(scope, receive, send_guarded)

    def is_authorised(self, headers: Headers) -> bool:
        """Whether a request carries the token, if one is needed."""
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode("latin-1", "replace"), self._token
        )

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if _head_bytes(scope) > MAX_HEAD_BYTES:
            return PlainTextResponse("the head of the request is too large\n", 431)
        authorised = self.is_authorised(headers)
        scope["lastsignal.authorised"] = authorised
        if scope["path"] in HEALTH:
            return None
        if not authorised:
            return PlainTextResponse(
                "this needs the bearer token\n",
                401,
                {"www-authenticate": 'Bearer realm="lastsignal"'},
            )
        if self._token is None and not self._is_known(headers.get("host", "")):
            # a web page may have a name of its own point at this machine, and read as "itself"
            return PlainTextResponse(
                "this host name is not served; add it to `hosts` of [http], or set a token\n", 421
            )
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and _is_cross_site(headers):
            return PlainTextResponse("other web sites may not ask for this\n", 403)
        return None

    def _is_known(self, host: str) -> bool:
        name = _without_port(host).lower()
        if not name or name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _head_bytes(scope: Scope) -> int:
    sizes = (len(name) + len(value) for name, value in scope["headers"])
    return len(scope["raw_path"]) + len(scope["query_string"]) + sum(sizes)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _is_cross_site(headers: Headers) -> bool:
    """Whether a browser sends this for a page of another site."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")
