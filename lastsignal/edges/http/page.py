"""The status page: how the daemon stands and what is open, without a script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from lastsignal.core.durations import show_duration
from lastsignal.core.incidents import Incident
from lastsignal.edges.http.filters import worst_first
from lastsignal.edges.http.markup import Markup, element, style_sheet
from lastsignal.edges.http.status import Status

MAX_SHOWN = 50
REFRESH_SECONDS = 30
YEAR_10000 = 253402300800.0  # epoch seconds; no calendar goes on

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; }
th { white-space: nowrap; }
table.facts { width: auto; }
tr { border-bottom: 1px solid #8884; }
td { overflow-wrap: anywhere; }
.critical { color: #b00020; font-weight: 600; }
.warning { color: #8a5a00; font-weight: 600; }
.quiet { color: #666; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #e6e6e6; }
  a { color: #8ab4f8; }
  .critical { color: #ff6b6b; }
  .warning { color: #ffb84d; }
  .quiet { color: #9aa0a6; }
}
"""
STYLE_HASH = f"sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}"
"""What the content security policy allows, and nothing else."""


def render_page(status: Status, now: float) -> str:
    """Return the page.

    Args:
        status: how the daemon stands.
        now: epoch seconds.
    """
    found = worst_first(one for one in status.incidents() if one.state == "open")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width"),
        element("meta", http_equiv="refresh", content=str(REFRESH_SECONDS)),
        element("title", f"Last Signal: {len(found)} open"),
        style_sheet(STYLE),
    )
    body = element(
        "body",
        element("h1", "Last Signal ", element("small", status.version, class_="quiet")),
        _readiness(status.not_ready()),
        element("h2", "Open incidents"),
        _incidents(found, now),
        element("h2", "Status"),
        element("table", [_pair(*fact) for fact in status.facts().items()], class_="facts"),
        _links(),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _readiness(reasons: Sequence[str]) -> Markup:
    if not reasons:
        return element("p", "Ready.")
    return element("div", "Not ready:", element("ul", [element("li", one) for one in reasons]))


def _incidents(found: Sequence[Incident], now: float) -> Markup:
    if not found:
        return element("p", "None.", class_="quiet")
    names = ("severity", "what", "rule", "trace", "count", "open for")
    table = element(
        "table",
        element("tr", [element("th", name) for name in names]),
        [_row(one, now) for one in found[:MAX_SHOWN]],
    )
    rest = len(found) - MAX_SHOWN
    more = element("p", f"and {rest} more, see the API", class_="quiet") if rest > 0 else ""
    return element("div", table, more)


def _row(incident: Incident, now: float) -> Markup:
    summary = element("div", incident.cause, class_="quiet") if incident.cause else ""
    cells: Iterable[str | list[str]] = (
        element("span", incident.severity, class_=incident.severity),
        [incident.summary, summary],
        incident.rule,
        incident.trace_id,
        str(incident.count),
        element("span", show_duration(max(0.0, now - incident.opened_at)), title=_when(incident)),
    )
    return element("tr", [element("td", cell) for cell in cells])


def _when(incident: Incident) -> str:
    if not 0 <= incident.opened_at < YEAR_10000:
        return ""
    return datetime.fromtimestamp(incident.opened_at, UTC).isoformat(" ", "seconds")


def _pair(name: str, value: object) -> Markup:
    shown = str(value)
    if value is None or isinstance(value, bool):
        shown = {True: "yes", False: "no", None: "none"}[value]
    return element("tr", element("th", name), element("td", shown))


def _links() -> Markup:
    places = ("metrics", "api/v1/incidents", "api/v1/status")
    return element("p", *([element("a", f"/{place}", href=place), " "] for place in places))
