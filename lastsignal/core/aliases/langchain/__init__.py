"""LangChain, LangGraph and LangSmith: event streams, runs and their updates, debug streams."""

from __future__ import annotations

from lastsignal.core.aliases.langchain import events, graph_debug, runs

DIALECTS = (events.DIALECT, runs.DIALECT, graph_debug.DIALECT)
