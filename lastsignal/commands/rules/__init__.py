"""`lastsignal rules`: the detectors and everything that their authors need."""

from __future__ import annotations

import click

from lastsignal.commands.rules.backtesting import backtest
from lastsignal.commands.rules.checking import lint, test_rules
from lastsignal.commands.rules.listing import list_rules, markdown_table, show
from lastsignal.commands.rules.writing import docs, new, schema


@click.group()
def rules() -> None:
    """List, show, write, lint, test and backtest detectors: the built-in ones and yours."""


for command in (list_rules, show, new, lint, test_rules, backtest, schema, docs):
    rules.add_command(command)

__all__ = ["markdown_table", "rules"]
