"""The rule engine: events in, findings out; pure, exact in event time, and restartable.

`program` compiles the rules into steps, `state` holds what they remember, `waits` judges what did
not come.
"""

from lastsignal.core.engine.engine import Engine

__all__ = ["Engine"]
