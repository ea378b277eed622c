"""Letters to one of Apprise's services.

Apprise blocks, and tells success from failure only; the status of a response is in its words. It
throttles and times out by rules of its own, so each call has a thread, and nobody waits for one
that hangs: its result is then unknown. Such a letter is tried once more, unless the late result
comes in before; this is the one duplicate that is possible.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

import anyio
import apprise
from anyio.lowlevel import current_token

from lastsignal.edges.notify.layout import as_markdown, as_text
from lastsignal.edges.notify.letter import Letter
from lastsignal.edges.notify.outcome import SENT, Outcome, outcome_of_status
from lastsignal.edges.notify.targets import Target
from lastsignal.edges.notify.wording import clean, shorten
from lastsignal.errors import UsageError

MAX_ERROR = 300

UNKNOWN = Outcome("unknown")

_STATUS = re.compile(r"\berror[ =:]+(\d{3})\b")


class AppriseService:
    """One Apprise URL.

    Raises:
        UsageError: Apprise cannot make sense of the URL.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        # no pool of Apprise's own between us and the service: one that hangs would fill it
        asset = apprise.AppriseAsset(app_id="Last Signal", async_mode=False, service_timeout=0)
        service = apprise.Apprise.instantiate(target.url.reveal(), asset=asset)
        if service is None:
            raise UsageError(
                f"target {target.name}: Apprise does not understand its URL ({target.address}…);"
                " its services are listed at https://github.com/caronc/apprise/wiki"
            )
        if service.overflow_mode == apprise.OverflowMode.UPSTREAM:
            service.overflow_mode = apprise.OverflowMode.TRUNCATE
        self._service = service
        self._apprise = apprise.Apprise(asset=asset)
        self._apprise.add(service)
        self._call: _Call | None = None
        """The call that is under way, or that nobody has seen the end of."""

    async def send(self, letter: Letter, key: str) -> Outcome:
        """Try once; while an earlier call hangs no other one is started."""
        if self._call is not None:
            earlier, ended = self._call, await self._ended(self._call)
            if not ended:
                if earlier.key == key:
                    return self._unknown()
                return Outcome("retry", "an earlier message still hangs")
            if earlier.key == key and earlier.outcome == SENT:
                return SENT
        call = self._call = _Call(key)
        call.start(self._apprise, self._message(letter))
        return call.outcome if await self._ended(call) else self._unknown()

    async def close(self) -> None:
        """Leave a call that hangs to itself."""

    async def _ended(self, call: _Call) -> bool:
        with anyio.move_on_after(self._target.timeout):
            await call.done.wait()
            self._call = None
            return True
        return False

    def _unknown(self) -> Outcome:
        return Outcome("unknown", f"no result within {self._target.timeout:g} s")

    def _message(self, letter: Letter) -> _Message:
        service = self._service
        wanted = service.resolve_format(apprise.NotifyFormat.TEXT)
        markdown = wanted == apprise.NotifyFormat.MARKDOWN
        limit = service.body_maxlen
        if service.title_maxlen <= 0 or service.overflow_amalgamate_title:
            limit = max(1, limit - len(letter.title) - 2)  # the title is sent within the body
        return _Message(
            title=shorten(letter.title, service.title_maxlen or len(letter.title)),
            body=(as_markdown if markdown else as_text)(letter, limit),
            format=apprise.NotifyFormat.MARKDOWN if markdown else apprise.NotifyFormat.TEXT,
            type=_notify_type(letter),
        )


@dataclass(frozen=True, slots=True)
class _Message:
    """What Apprise is given."""

    title: str
    body: str
    format: apprise.NotifyFormat
    type: apprise.NotifyType


@dataclass(slots=True)
class _Call:
    """One call in a thread that nothing has to wait for: also not the end of the process."""

    key: str
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: Outcome = UNKNOWN

    def start(self, service: apprise.Apprise, message: _Message) -> None:
        token = current_token()

        def work() -> None:
            self.outcome = _notify(service, message)
            try:
                anyio.from_thread.run_sync(self.done.set, token=token)
            except RuntimeError:
                pass  # the loop has ended meanwhile: nobody asks any more

        threading.Thread(target=work, name="lastsignal-apprise", daemon=True).start()


def _notify(service: apprise.Apprise, message: _Message) -> Outcome:
    try:
        result = service.notify(
            message.body,
            message.title,
            notify_type=message.type,
            body_format=message.format,
        )
    except Exception as error:  # a plugin's own fault: it costs its message an attempt, no more
        return Outcome("retry", f"{type(error).__name__}: {clean(str(error), MAX_ERROR)}")
    if result:
        return SENT
    words = " ".join(entry.message for entry in result.logs())
    found = _STATUS.search(words)
    why = clean(words, MAX_ERROR) or "Apprise says that it failed, and not why"
    return outcome_of_status(int(found[1]), why) if found else Outcome("retry", why)


def _notify_type(letter: Letter) -> apprise.NotifyType:
    if letter.over:
        return apprise.NotifyType.SUCCESS
    return {
        "critical": apprise.NotifyType.FAILURE,
        "warning": apprise.NotifyType.WARNING,
        "info": apprise.NotifyType.INFO,
    }[letter.severity]
