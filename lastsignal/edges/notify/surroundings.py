"""What the workers share: time, chance, and who is told of what they do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from lastsignal.edges.notify.clock import Clock, SystemClock
from lastsignal.edges.notify.observer import Observer


@dataclass(frozen=True, slots=True)
class Surroundings:
    """With a clock and a jitter of its own, a test makes everything happen at the same moments."""

    observer: Observer = field(default_factory=Observer)
    clock: Clock = field(default_factory=SystemClock)
    jitter: Callable[[], float] = random.random
