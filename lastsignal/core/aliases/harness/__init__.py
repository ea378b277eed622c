"""Benchmark and evaluation harnesses: trajectories and results."""

from __future__ import annotations

from lastsignal.core.aliases.harness import (
    atif,
    mini_swe_agent,
    swe_agent,
    tau_bench,
    trial_result,
)

DIALECTS = (
    atif.DIALECT,
    trial_result.DIALECT,
    mini_swe_agent.DIALECT,
    swe_agent.DIALECT,
    tau_bench.DIALECT,
)
