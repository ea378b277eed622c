"""Prints what the whole way says of each sample: `make samples`."""

from __future__ import annotations

import sys

from kit.samples import folder
from rich.console import Console
from rich.table import Table
from test_samples import table


def main() -> int:
    """Print the table; 1 where there are no samples."""
    rows = table()
    if not rows:
        sys.stderr.write(f"no samples in {folder()}: set LASTSIGNAL_SAMPLES\n")
        return 1
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("file", "layout", "events", "outcome", "findings"):
        shown.add_column(column, overflow="fold", justify="right" if column == "events" else "left")
    for row in rows:
        shown.add_row(*row)
    Console(width=max(160, Console().width), highlight=False).print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
