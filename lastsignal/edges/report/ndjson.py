"""ndjson: one trace a line, for streams and for logs of logs."""

from __future__ import annotations

from lastsignal.core.diagnosis.report import SCHEMA_VERSION, Report
from lastsignal.edges.report.json_document import trace_of
from lastsignal.edges.report.json_text import encode
from lastsignal.edges.report.options import Options


def render(report: Report, options: Options) -> str:
    """Return a line a trace, each with the schema's version; nothing where there is no trace."""
    lead = f'{{"schema_version":{encode(SCHEMA_VERSION)},'
    return "".join(f"{lead}{encode(trace_of(trace))[1:]}\n" for trace in report.traces)
