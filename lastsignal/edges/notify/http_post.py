"""One POST of JSON over HTTP, and what its answer means."""

from __future__ import annotations

import math
from collections.abc import Mapping

import anyio
import httpx

from lastsignal import __version__
from lastsignal.edges.notify.clock import Clock
from lastsignal.edges.notify.outcome import Outcome, outcome_of_status, parse_retry_after
from lastsignal.edges.notify.targets import Target
from lastsignal.edges.notify.wording import clean

MAX_ANSWER = 4096  # bytes that are read of an answer: it explains a refusal, no more
MAX_ERROR = 300  # characters of it that are kept

_USER_AGENT = f"lastsignal/{__version__}"


class HttpPost:
    """Posts to one target.

    Redirects are not followed: who moved a receiver has to say so here, and no credentials go
    anywhere else than where they were meant for.
    """

    def __init__(self, target: Target, clock: Clock) -> None:
        self._target = target
        self._clock = clock
        self._client = httpx.AsyncClient(
            auth=_auth(target),
            headers={"User-Agent": _USER_AGENT, **_bearer(target)},
            timeout=target.timeout,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Post a body to the target's URL with a path added to it; never raises for a failure."""
        url = self._target.url.reveal().rstrip("/") + path if path else self._target.url.reveal()
        try:
            # httpx limits each read; a receiver that answers byte by byte would take forever
            with anyio.fail_after(self._target.timeout):
                return await self._exchange(url, body, headers)
        except (TimeoutError, httpx.TimeoutException):
            return Outcome("retry", f"no answer within {_seconds(self._target.timeout)}")
        except httpx.InvalidURL:
            return Outcome("dead", "the URL is not valid")
        except (httpx.HTTPError, OSError) as error:
            return Outcome("retry", f"{type(error).__name__}: {clean(str(error), MAX_ERROR)}")

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def _exchange(self, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        sent = {"Content-Type": "application/json", **headers}
        async with self._client.stream("POST", url, content=body, headers=sent) as response:
            answer = b""
            async for piece in response.aiter_bytes():
                answer += piece
                if len(answer) >= MAX_ANSWER:
                    break
            after = parse_retry_after(response.headers.get("Retry-After"), self._clock.now())
            return outcome_of_status(response.status_code, _explained(response, answer), after)


def _explained(response: httpx.Response, answer: bytes) -> str:
    words = clean(answer[:MAX_ANSWER].decode("utf-8", "replace"), MAX_ERROR)
    status = f"{response.status_code} {response.reason_phrase}".strip()
    return f"{status}: {words}" if words else status


def _auth(target: Target) -> httpx.BasicAuth | None:
    if target.password is None:
        return None
    return httpx.BasicAuth(target.username, target.password.reveal())


def _bearer(target: Target) -> dict[str, str]:
    return {"Authorization": f"Bearer {target.token.reveal()}"} if target.token else {}


def _seconds(number: float) -> str:
    return f"{number:g} s" if number >= 1 or not number else f"{math.ceil(number * 1000)} ms"
