"""A page of terminal text: labels in a gutter, bodies beside it, wrapped to the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

from lastsignal.edges.report.options import MIN_WIDTH, Options
from lastsignal.edges.report.phrases import more

GUTTER = 13  # columns: two of margin, the longest label, two of air

_HEIGHT = 25  # never used, but rich looks at the real terminal where it is not given


def row(*parts: Text | str | tuple[str, str]) -> Text:
    """Return a line that is not to be wrapped."""
    line = Text.assemble(*parts)
    line.no_wrap = True
    return line


class Page:
    """Lines in the order written; whatever they hold is text, never markup."""

    def __init__(self, options: Options) -> None:
        self.width = max(options.width, MIN_WIDTH)
        self._buffer = StringIO()
        self._console = Console(
            file=self._buffer,
            width=self.width,
            height=_HEIGHT,
            force_terminal=options.color,
            force_interactive=False,
            color_system="standard" if options.color else None,
            no_color=not options.color,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},  # what the environment wants is in the options
        )

    @property
    def body_width(self) -> int:
        """Columns beside the gutter."""
        return self.width - GUTTER

    def line(self, *parts: Text | str) -> None:
        """Write one line as it is, however long."""
        text = Text.assemble(*parts)
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def flow(self, text: Text, indent: int = 2) -> None:
        """Write a text over as many lines as it takes."""
        for row in self._wrapped(text, self.width - indent):
            self.line(" " * indent, row)

    def join(self, parts: Sequence[Text], indent: int = 0) -> None:
        """Write phrases with dots between, broken between phrases rather than within them."""
        line = Text()
        for part in parts:
            if line and line.cell_len + part.cell_len + 3 > self.width - indent:
                self.flow(line, indent)
                line = Text()
            line = Text.assemble(line, (" · ", "dim"), part) if line else part
        self.flow(line, indent)

    def section(
        self,
        label: str,
        body: Sequence[Text],
        *,
        most: int | None = None,
        hang: int = 0,
        style: str = "bold",
    ) -> None:
        """Write a body beside its label; nothing where it is empty.

        Args:
            label: for the gutter.
            body: its entries.
            most: how many entries there is room for.
            hang: how far the lines of an entry after its first are indented.
            style: of the label.
        """
        rows = [line for text in body[:most] for line in self._hung(text, hang)]
        if most is not None and len(body) > most:
            rows.append(Text(f"… {more(len(body) - most)}", "dim"))
        if rows:
            self.blank()
        for index, line in enumerate(rows):
            head = f"  {label}" if index == 0 else ""
            self.line(Text(head.ljust(GUTTER), style), line)

    def rule(self) -> None:
        """Write a line across the page."""
        self.line(Text("─" * self.width, "dim"))

    def blank(self) -> None:
        """Leave a line free."""
        self._console.print()

    def text(self) -> str:
        """Return all that was written."""
        return self._buffer.getvalue()

    def _hung(self, text: Text, hang: int) -> list[Text]:
        first, *others = self._wrapped(text, self.body_width - hang)
        return [first, *(Text.assemble(" " * hang, line) for line in others)]

    def _wrapped(self, text: Text, width: int) -> list[Text]:
        if text.no_wrap:
            return [text]
        return list(text.wrap(self._console, width, overflow="fold"))
