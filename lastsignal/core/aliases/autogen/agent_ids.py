"""What the ids of AutoGen's agents say: `type_<team>/<team>` in a team, `type/<key>` elsewhere."""

from __future__ import annotations

import re

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def team_of(agent_id: object) -> str:
    """Return the team's id, empty for any other key: that says nothing of the run."""
    key = agent_id.rpartition("/")[2] if isinstance(agent_id, str) else ""
    return key if _UUID.fullmatch(key) else ""


def name_of(agent_id: object) -> str | None:
    """Return the agent's name without its team's id."""
    if not isinstance(agent_id, str):
        return None
    name, _, key = agent_id.rpartition("/")
    return (name or key).removesuffix(f"_{key}") or None


def is_manager(agent_id: object) -> bool:
    """Whether this agent runs a team."""
    name = name_of(agent_id) or ""
    return "Manager" in name or "Orchestrator" in name
