"""The layouts of this family, in ladder order."""

from __future__ import annotations

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.otel import jaeger, otlp, sdk, span_export

DIALECTS: tuple[Dialect, ...] = (
    otlp.DIALECT,
    jaeger.DIALECT,
    sdk.DIALECT,
    span_export.DIALECT,
)
