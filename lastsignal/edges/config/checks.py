"""What must hold between the values of a configuration that are each right by themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from lastsignal.edges.config.decoding import Decoding
from lastsignal.edges.config.schema import Config

Check = Callable[[Config, Decoding], None]

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def check(config: Config, decoding: Decoding) -> None:
    """Tell every contradiction."""
    for one in _CHECKS:
        one(config, decoding)


def _check_tls(config: Config, decoding: Decoding) -> None:
    http = config.http
    for name, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
        path = getattr(http, name)
        if path is None:
            continue
        if getattr(http, other) is None:
            decoding.complain(
                ("http", name), f"`http.{name}` needs `http.{other}`", f'add {other} = "…"'
            )
        trouble = _unreadable(path)
        if trouble:
            decoding.complain(
                ("http", name), f"`http.{name}`: {path} {trouble}", "check the path, permissions"
            )


def _check_listen(config: Config, decoding: Decoding) -> None:
    http = config.http
    if not http.enabled or http.listen.is_loopback:
        return
    if http.token is None and http.tls_cert is None:
        decoding.complain(
            ("http", "listen"),
            f"`http.listen`: other machines reach {http.listen}, and nothing protects it",
            "add `http.token`, or `http.tls_cert` and `http.tls_key`, or listen on 127.0.0.1",
        )
    elif http.token is None:
        decoding.complain(
            ("http", "listen"),
            f"`http.listen`: whoever reaches {http.listen} may read incidents",
            "add `http.token`",
            "warning",
        )


def _check_targets(config: Config, decoding: Decoding) -> None:
    first: dict[str, int] = {}
    for index, target in enumerate(config.targets):
        if target.name in first:
            decoding.complain(
                ("targets", index, "name"),
                f"`targets[{index}]` has the name `{target.name}`, too",
                f"give each its own; the first is targets[{first[target.name]}]",
            )
        first.setdefault(target.name, index)
        if config.alertmanager.urls and re.fullmatch(r"alertmanager(-\d+)?", target.name):
            decoding.complain(
                ("targets", index, "name"),
                f"`{target.name}` is what [alertmanager] is called itself",
                "give the target another name",
            )


def _check_webhooks(config: Config, decoding: Decoding) -> None:
    for index, target in enumerate(config.targets):
        if target.kind == "webhook":
            if not re.match(r"https?://", target.url.reveal()):
                decoding.complain(
                    ("targets", index, "url"),
                    f"`url` of the web hook `{target.name}` is no web address",
                    "write http://… or https://…",
                )
        elif target.token is not None:
            decoding.complain(
                ("targets", index, "token"),
                f"`token` is for web hooks, and target `{target.name}` is none",
                'add kind = "webhook", or write the token into the URL',
            )


def _check_retries(config: Config, decoding: Decoding) -> None:
    for index, target in enumerate(config.targets):
        if target.retry_min > target.retry_max:
            decoding.complain(
                ("targets", index, "retry_min"),
                f"`retry_min` of target `{target.name}` is over its `retry_max`",
                "the first wait is the shortest",
            )


def _check_alertmanager(config: Config, decoding: Decoding) -> None:
    alertmanager = config.alertmanager
    if alertmanager.token is not None and alertmanager.username:
        decoding.complain(
            ("alertmanager", "username"),
            "`alertmanager` has both `token` and `username`",
            "keep the one that it asks for",
        )
    if bool(alertmanager.username) != (alertmanager.password is not None):
        decoding.complain(
            ("alertmanager", "username" if alertmanager.username else "password"),
            "`alertmanager.username` and `alertmanager.password` need one another",
            "add the other",
        )
    for label in alertmanager.labels:
        if not _LABEL.fullmatch(label):
            decoding.complain(
                ("alertmanager", "labels", label),
                f"`{label}` is no name of a label",
                "use a-z, A-Z, 0-9 and _, no digit first",
            )


_CHECKS: tuple[Check, ...] = (
    _check_tls,
    _check_listen,
    _check_targets,
    _check_webhooks,
    _check_retries,
    _check_alertmanager,
)


def _unreadable(path: Path) -> str:
    if not path.is_file():
        return "is no file"
    return "" if os.access(path, os.R_OK) else "cannot be read"
