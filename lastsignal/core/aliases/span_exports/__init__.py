"""Spans as observability services and experiment trackers export them."""

from __future__ import annotations

from lastsignal.core.aliases.span_exports import langfuse, mlflow, weave

DIALECTS = (mlflow.DIALECT, langfuse.DIALECT, weave.DIALECT)
