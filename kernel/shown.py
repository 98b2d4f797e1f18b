"""What a magic answers: plain text that reads well at 80 columns, and HTML for notebooks. The one file that knows rich.

rich is imported when a table is made, since a kernel that shows none should not wait for it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, TypeAlias

from perdure.layer.slots import fact

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 80  # characters
_PRE = "margin: 0; padding-left: var(--jp-code-padding, 0)"  # in line with other outputs in JupyterLab


@fact
class Shown:
    """An answer; `next_cell` is what is to stand in the next cell, None to leave that alone."""

    text: str
    html: str | None = None
    next_cell: str | None = None


@fact
class Table:
    """Rows of texts under `headers`; without headers, columns that stand under each other."""

    rows: Sequence[Sequence[str]]
    headers: Sequence[str] = ()


Part: TypeAlias = "str | Table"


def page(*parts: Part, next_cell: str | None = None) -> Shown:
    """`parts` below each other. Texts stay as they are: source must not be wrapped."""
    if not any(isinstance(part, Table) for part in parts):
        return Shown("\n".join(map(str, parts)), next_cell=next_cell)
    rendered = [_rendered(part) if isinstance(part, Table) else (part, html.escape(part)) for part in parts]
    text, marked = ("\n".join(each) for each in zip(*rendered, strict=True))
    return Shown(text, f'<pre style="{_PRE}">{marked}</pre>', next_cell)


def _rendered(table: Table) -> tuple[str, str]:
    """The table as text and as the inside of a `<pre>`."""
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(
        box=None, pad_edge=False, show_header=bool(table.headers), header_style="bold", padding=(0, 2, 0, 0)
    )
    for column in range(max(map(len, (*table.rows, table.headers)), default=0)):
        made.add_column(table.headers[column] if table.headers else "", overflow="fold")
    for row in table.rows:
        made.add_row(*map(Text, row))
    console = _console()
    console.print(made)
    marked = console.export_html(inline_styles=True, code_format="{code}", clear=False)
    return _without_ends(console.export_text().splitlines()), _without_ends(marked.splitlines())


def _without_ends(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines)


def _console() -> Console:
    """A console of 80 columns that draws for nobody, whatever terminal or variables the kernel was started with."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        width=_WIDTH,
        record=True,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        force_interactive=False,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
