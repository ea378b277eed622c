"""OpenTelemetry and everything that it carries: encodings → Span → Events.

Each encoding (`otlp`, `sdk`, `span_export`, `jaeger`) turns its records into `spans.Span`;
`semantics` says by the attributes what a span was, whichever library wrote it; `decoder` adds
what only the spans around it can tell.
"""
