"""Everything that can be configured, as frozen structs; what stands below a key is its meaning.

`docs/configuration.md` is written from these structs. Lengths of time are in seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from lastsignal.core.addresses import Address
from lastsignal.core.durations import Duration
from lastsignal.core.incidents import IncidentPolicy
from lastsignal.core.rules import Scalar, Severity
from lastsignal.edges.config.places import RawTable
from lastsignal.edges.config.values import Interval, Pattern, Secret, Size, WebAddress

Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,49}$")]
Params = dict[str, Scalar]

MIB = 1 << 20
DEFAULT_LISTEN = Address("127.0.0.1", 9787)


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class Inputs(_Section, frozen=True):
    """Which files are read, and how they are followed."""

    paths: tuple[Pattern, ...] = ()
    """Files, folders (with everything below them) and globs; `~` and `**` are known. `lastsignal
    watch PATH…` takes its arguments instead."""
    exclude: tuple[str, ...] = ()
    """Globs of files to leave out; one without a slash is a name, wherever it stands."""
    start: Literal["checkpoint", "start", "end"] = "checkpoint"
    """Where files that are there at startup begin: where the last run stopped and else at their
    start; always at their start; or at their end. Later files begin at their start."""
    scan_interval: Interval = Interval(5)
    """Between looks at every file, which find what change notification missed."""
    poll_interval: Interval = Interval(1)
    """Between looks where the system does not tell of changes."""
    change_notification: bool = True
    """Ask the system to tell of changes; switch it off for network file systems that tell of none.
    """
    wait_after_rename: Duration = Duration(30)
    """How long a renamed file is followed after the last byte written to it."""
    copy_patience: Duration = Duration(5)
    """How long a file that looks like the copy of a live one waits for that one to be cut."""


class Rules(_Section, frozen=True):
    """Which detectors run, and with which parameters."""

    builtin: bool = True
    """Run the detectors that come with Last Signal."""
    paths: tuple[Path, ...] = ()
    """Rule files of yours, or folders of them, loaded after the built-in ones."""
    disabled: tuple[str, ...] = ()
    """Ids of rules that do not run."""
    reload_on_change: bool = True
    """Take changed rule files without being told; a broken set keeps the last good one."""
    params: dict[str, Params] = {}
    """Parameters by rule id, over those of the rule file."""
    agents: dict[str, dict[str, Params]] = {}
    """Parameters for one agent: by its name, then by rule id."""
    operations: dict[str, dict[str, Params]] = {}
    """Parameters for one operation (a tool or a model): by its name, then by rule id."""


class Route(_Section, frozen=True):
    """Which incidents it is told of: all that one route says must hold, and one route must."""

    severity: Severity = "info"
    """The least severity."""
    rules: tuple[str, ...] = ()
    """Rule ids or globs of them; none means every rule."""
    categories: tuple[str, ...] = ()
    """Categories of rules, or globs; none means every category."""
    agents: tuple[str, ...] = ()
    """Names of agents, or globs; none means every agent."""
    frameworks: tuple[str, ...] = ()
    """Frameworks, or globs; none means every framework."""


class Target(_Section, frozen=True):
    """Whom to tell of incidents; repeat the table for each."""

    name: Name
    """What logs, metrics and `lastsignal notify` call it: a-z, 0-9, _ and -, a letter first."""
    url: Secret
    """An Apprise URL, e.g. `slack://…` or `mailto://…`; of a web hook, `https://…`."""
    kind: Literal["apprise", "webhook"] = "apprise"
    """`apprise`: a message for people. `webhook`: JSON for a program, by HTTP POST."""
    token: Secret | None = None
    """The bearer token of a web hook."""
    enabled: bool = True
    """Whether it is told at all."""
    routes: tuple[Route, ...] = ()
    """Which incidents it is told of; without any, all of them."""
    send_resolved: bool = True
    """Tell it also that an incident is over."""
    min_interval: Interval = Interval(1)
    """At most one message in this time."""
    timeout: Interval = Interval(15)
    """How long one attempt may take."""
    retry_min: Interval = Interval(2)
    """How long to wait after a first failure; doubles with each one. A longer `Retry-After` of the
    receiver is obeyed."""
    retry_max: Interval = Interval(300)
    """The longest wait between attempts."""
    max_attempts: Count | None = None
    """After so many failed attempts a message is kept as a dead letter; without it, only
    `give_up_after` counts."""
    give_up_after: Interval = Interval(24 * 3600)
    """A message that could not be delivered for this long is kept as a dead letter."""


class Alertmanager(_Section, frozen=True):
    """A Prometheus Alertmanager that is told of open incidents (API v2)."""

    urls: tuple[WebAddress, ...] = ()
    """Where it is, e.g. `http://alertmanager:9093`; of a cluster, every member."""
    token: Secret | None = None
    """A bearer token, where it asks for one."""
    username: str = ""
    """Of basic authentication."""
    password: Secret | None = None
    """Of basic authentication."""
    labels: dict[str, str] = {}
    """Labels that every alert gets besides its own."""
    routes: tuple[Route, ...] = ()
    """Which incidents it is told of; without any, all of them."""
    refresh_interval: Interval = Interval(60)
    """How often an open incident is sent again; its end is set to three times this."""
    timeout: Interval = Interval(15)
    """How long one request may take."""


class Http(_Section, frozen=True):
    """Metrics, health, the status page and the API."""

    enabled: bool = True
    """Serve HTTP at all."""
    listen: Address = DEFAULT_LISTEN
    """`host:port`, e.g. `127.0.0.1:9787` or `[::1]:9787`. An address that other machines reach is
    refused without a token or TLS. Port 0 takes any that is free."""
    token: Secret | None = None
    """The bearer token that requests must carry; only health checks need none."""
    tls_cert: Path | None = None
    """Certificate chain in PEM; with it, HTTPS only."""
    tls_key: Path | None = None
    """Private key of the certificate, in PEM."""
    hosts: tuple[str, ...] = ()
    """Host names under which it is reached, e.g. behind a proxy. Without a token, requests for any
    name but localhost are refused, so that no web page can read incidents through a browser."""
    reload: bool = True
    """Whether `POST /-/reload` reloads rules and configuration."""


class Log(_Section, frozen=True):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is written."""
    format: Literal["auto", "human", "json"] = "auto"
    """`auto`: for people on a terminal, else JSON, one object a line."""


class Limits(_Section, frozen=True):
    """What bounds memory, disk and time."""

    max_traces: Count = 200_000
    """Traces whose state is kept; beyond it those idle for longest are given up, and counted."""
    max_record_bytes: Size = Size(32 * MIB)
    """Longer records are skipped, and counted."""
    max_open_files: Count = 256
    """Files that are open at one time."""
    max_deleted_files: Count = 64
    """Deleted files that are held open for what is unread in them: they take space on the disk."""
    read_queue: Count = 16
    """Pieces of files that wait for the rules; when full, reading waits."""
    notification_queue: Annotated[int, msgspec.Meta(ge=2)] = 100
    """Messages that wait for one target; beyond it the older half is folded into a digest. At one
    message a second this is also how many seconds late the last one comes."""
    commit_interval: Interval = Interval(1)
    """How often progress is written to disk when nothing is found."""
    drain_timeout: Interval = Interval(20)
    """How long a stop may take to read what is unread; keep it below the supervisor's patience."""


class Aliases(_Section, frozen=True):
    """Names that traces of yours use, beside those that are known."""

    fields: RawTable = RawTable()
    """Your name of a field = the field, e.g. `tool_id = "operation"`; or the field = your names,
    e.g. `operation = ["tool_id", "call.tool"]`. `lastsignal normalize --aliases FILE` shows what
    comes of it."""
    events: RawTable = RawTable()
    """Your word for what happened = the type of event, e.g. `llm_done = "model_call"`, or
    `{ event_type = "model_call", status = "completed" }`."""
    dialects: tuple[RawTable, ...] = ()
    """Layouts of flat records of yours: how they are told apart, and what is where."""


class Config(_Section, frozen=True):
    """The whole configuration."""

    state_dir: Path
    """Where progress, incidents and undelivered messages are kept."""
    inputs: Inputs = Inputs()
    rules: Rules = Rules()
    incidents: IncidentPolicy = IncidentPolicy()
    targets: tuple[Target, ...] = ()
    alertmanager: Alertmanager = Alertmanager()
    http: Http = Http()
    log: Log = Log()
    limits: Limits = Limits()
    aliases: Aliases = Aliases()
