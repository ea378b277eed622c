"""The configuration, as each part of the daemon wants to have it."""

from __future__ import annotations

import msgspec

from lastsignal.edges import config as configured
from lastsignal.edges import notify
from lastsignal.edges.http import HttpSettings
from lastsignal.edges.inputs.folders import FOREIGN_FOLDERS, FOREIGN_NAMES, FOREIGN_SUFFIXES
from lastsignal.edges.logs import own_file
from lastsignal.edges.tailer import TailerConfig

NEVER_TAILED = (*FOREIGN_SUFFIXES, ".zip", ".eval")
"""Archives have their index at their end: what grows is none."""

ONLY_AT_START = ("state_dir", "inputs", "http", "limits", "aliases")
"""What of the configuration a running daemon cannot change."""


def tailer_settings(config: configured.Config, max_open_files: int) -> TailerConfig:
    """Return what is tailed, and how many files may be open for it."""
    inputs, limits = config.inputs, config.limits
    return TailerConfig(
        patterns=tuple(inputs.paths),
        exclude=inputs.exclude,
        start=inputs.start,
        takes_below_folder=is_trace_name,
        own_paths=(str(config.state_dir), *([own_log] if (own_log := own_file()) else [])),
        scan_interval=inputs.scan_interval,
        poll_interval=inputs.poll_interval,
        max_open_files=max_open_files,
        max_deleted_files=limits.max_deleted_files,
        wait_after_rename=inputs.wait_after_rename,
        copy_patience=inputs.copy_patience,
        notifies=inputs.change_notification,
    )


def is_trace_name(path: str) -> bool:
    """Whether a file below a folder may be a trace, by its name: as `diagnose` takes it."""
    *folders, name = path.split("/")
    return not (
        name.startswith(".")
        or name in FOREIGN_NAMES
        or name.endswith(NEVER_TAILED)
        or not FOREIGN_FOLDERS.isdisjoint(folders)
    )


def http_settings(http: configured.Http) -> HttpSettings:
    """Return how HTTP is served."""
    return HttpSettings(
        listen=http.listen,
        token=_revealed(http.token),
        tls_cert=http.tls_cert,
        tls_key=http.tls_key,
        hosts=http.hosts,
        reload=http.reload,
    )


def targets(config: configured.Config) -> list[notify.Target]:
    """Return whom to tell, Alertmanagers last."""
    limit = config.limits.notification_queue
    told = [_target(one, limit) for one in config.targets if one.enabled]
    manager = config.alertmanager
    names = ["alertmanager", *(f"alertmanager-{n}" for n in range(2, len(manager.urls) + 1))]
    return told + [
        notify.Target(
            name=name,
            url=notify.Secret(str(url)),
            kind="alertmanager",
            routes=_routes(manager.routes),
            token=_secret(manager.token),
            username=manager.username,
            password=_secret(manager.password),
            labels=manager.labels,
            refresh_interval=manager.refresh_interval,
            timeout=manager.timeout,
        )
        for name, url in zip(names, manager.urls, strict=False)
    ]


def secrets(config: configured.Config) -> list[str]:
    """Return every secret of the configuration: none of them may get into the log."""
    found = [config.http.token, config.alertmanager.token, config.alertmanager.password]
    for target in config.targets:
        found += [target.url, target.token]
    return [secret.reveal() for secret in found if secret is not None]


def waiting_for_restart(running: configured.Config, read: configured.Config) -> list[str]:
    """Return the keys and tables that differ and that a running daemon cannot change."""
    queue = read.limits.notification_queue  # that of a target, which is made anew
    running = msgspec.structs.replace(
        running, limits=msgspec.structs.replace(running.limits, notification_queue=queue)
    )
    return [name for name in ONLY_AT_START if getattr(running, name) != getattr(read, name)]


def _target(one: configured.Target, queue_limit: int) -> notify.Target:
    return notify.Target(
        name=str(one.name),
        url=notify.Secret(one.url.reveal()),
        kind=one.kind,
        routes=_routes(one.routes),
        send_resolved=one.send_resolved,
        max_per_second=1.0 / one.min_interval,
        timeout=one.timeout,
        retries=notify.Retries(
            attempts=one.max_attempts,
            give_up_after=one.give_up_after,
            base=one.retry_min,
            cap=one.retry_max,
        ),
        queue_limit=queue_limit,
        token=_secret(one.token),
    )


def _routes(routes: tuple[configured.Route, ...]) -> tuple[notify.Route, ...]:
    return tuple(
        notify.Route(
            severity=one.severity,
            rules=one.rules,
            categories=one.categories,
            agents=one.agents,
            frameworks=one.frameworks,
        )
        for one in routes
    )


def _secret(secret: configured.Secret | None) -> notify.Secret | None:
    return None if secret is None else notify.Secret(secret.reveal())


def _revealed(secret: configured.Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
