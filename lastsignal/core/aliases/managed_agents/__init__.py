"""Anthropic's managed agents."""

from __future__ import annotations

from lastsignal.core.aliases.managed_agents import session

DIALECT = session.DIALECT
