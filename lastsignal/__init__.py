"""Last Signal: says why an AI agent's run failed."""

__version__ = "0.1.0"
