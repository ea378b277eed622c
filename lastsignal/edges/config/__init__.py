"""The configuration: one TOML file, variables of the environment, the command line.

`load_config` returns frozen structs or every mistake at once; `show` renders what is in force.
"""

from __future__ import annotations

from lastsignal.edges.config.loading import ConfigError, LoadedConfig, Override, load_config
from lastsignal.edges.config.places import RawTable
from lastsignal.edges.config.reference import reference
from lastsignal.edges.config.rendering import show
from lastsignal.edges.config.rule_checks import check_rules
from lastsignal.edges.config.schema import (
    Alertmanager,
    Aliases,
    Config,
    Http,
    Inputs,
    Limits,
    Log,
    Route,
    Rules,
    Target,
)
from lastsignal.edges.config.values import Secret

__all__ = [
    "Alertmanager",
    "Aliases",
    "Config",
    "ConfigError",
    "Http",
    "Inputs",
    "Limits",
    "LoadedConfig",
    "Log",
    "Override",
    "RawTable",
    "Route",
    "Rules",
    "Secret",
    "Target",
    "check_rules",
    "load_config",
    "reference",
    "show",
]
