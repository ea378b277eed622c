"""Targets → what carries letters to them."""

from __future__ import annotations

import logging

from lastsignal.edges.notify.clock import Clock
from lastsignal.edges.notify.sender import Sender
from lastsignal.edges.notify.targets import Target, TargetKind
from lastsignal.edges.notify.webhook import Webhook
from lastsignal.errors import UsageError

_TALKATIVE = (
    "apprise",
    "httpcore",
    "httpx",
    "oauthlib",
    "requests",
    "requests_oauthlib",
    "urllib3",
)


def make_sender(target: Target, clock: Clock) -> Sender:
    """Return the way to a target of kind `apprise` or `webhook`.

    Raises:
        UsageError: the target's URL cannot be used.
    """
    quiet_libraries()
    if target.kind == "webhook":
        check_web_url(target)
        return Webhook(target, clock)
    # Apprise takes a while to import and much memory: only who has a use for it pays that
    from lastsignal.edges.notify.apprise_service import AppriseService

    return AppriseService(target)


def check_web_url(target: Target) -> None:
    """Make sure that a target's URL is one of the web.

    Raises:
        UsageError: it is none.
    """
    if not target.url.reveal().lower().startswith(("http://", "https://")):
        kind: TargetKind = target.kind
        raise UsageError(
            f"target {target.name}: {target.address} is no address for {kind};"
            " write http://… or https://…"
        )


def quiet_libraries() -> None:
    """Keep libraries from logging: their lines hold whole URLs, and so secrets.

    Nothing is lost by that: what went wrong with a message is in its outcome.
    """
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
