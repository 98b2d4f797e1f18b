"""What magics answer, without a kernel: texts and tables, advice on skipped files, the table of subcommands."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.kernel.layer_magic import SUBCOMMANDS, layer_help
from perdure.kernel.mending import place_in, what_mends
from perdure.kernel.shown import Shown, Table, page
from perdure.layer.boot_report import Skipped
from perdure.layer.definition import RelPath


def test_texts_stay_as_they_are() -> None:
    long = "x = 1  # " + "no line is broken " * 10
    assert page("[bold]a[/bold] :smile:", long) == Shown(f"[bold]a[/bold] :smile:\n{long}")


def test_a_table_is_80_columns_wide_at_most() -> None:
    rows = [("1a2b3c4", "[red]keep[/red] :smile: " * 9, "In[1]"), ("2", "漢字" * 40, "é" * 100)]
    shown = page("above", Table(rows, ("commit", "what", "where")))
    lines = shown.text.splitlines()
    assert lines[0] == "above"
    assert lines[1].split() == ["commit", "what", "where"]
    assert all(len(line) + sum(ord(c) > 0x2000 for c in line) <= 80 for line in lines)
    assert "\x1b" not in shown.text
    assert lines == [line.rstrip() for line in lines]
    assert shown.text.count("漢") == 40
    assert "[red]" in shown.text


def test_a_notebook_gets_the_same_as_html() -> None:
    shown = page("<b>", Table([("a < b", "é")], ("h", "i")))
    assert shown.html is not None
    assert shown.html.startswith("<pre style=")
    assert "&lt;b&gt;\n" in shown.html
    assert "a &lt; b" in shown.html
    assert "font-weight: bold" in shown.html


def test_what_the_environment_says_of_terminals_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = page(Table([("a", "b" * 90)]))
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "20", "TERM": "dumb", "JUPYTER_COLUMNS": "10"}.items():
        monkeypatch.setenv(name, value)
    assert page(Table([("a", "b" * 90)])) == plain


def test_every_subcommand_is_there() -> None:
    for word, subcommand in SUBCOMMANDS.items():
        assert subcommand.run.__name__ == word
    assert all(len(line) <= 88 for line in layer_help().splitlines())


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("cv2 is found nowhere here; install it", "`%pip install cv2`, if"),
        ("numpy.old is no module of numpy here", "numpy has another version now: edit"),
        ("it needs app to load, and functions/a/app.py is skipped", "mend functions/a/app.py and restart"),
        ("it needs app to load, which nothing defines", "define app and restart"),
        ("it uses helper, which nothing defines now", "define helper and restart"),
        ("f is defined in functions/f/f.py too; remove one of the files", "remove one of the two files"),
        ("the text of f that it overrides changed in /team", "look at what f is now"),
        ("the f that it overrides is in no cells folder now; if", "edit the file and restart, or run"),
        ("line 3: it has merge conflict markers", "settle the conflict"),
        ("it raised ValueError: no at line 3", "edit the file and restart"),
        ("line 1: invalid syntax", "edit the file and restart"),
    ],
)
def test_each_reason_has_its_advice(reason: str, advice: str) -> None:
    said = what_mends(Skipped(RelPath("functions/f/f.py"), reason, ("f",)))
    assert said.startswith(advice)
    assert said.endswith("; %forget f drops it")


def test_the_place_has_the_line_where_one_is_told() -> None:
    path = RelPath("functions/f/f.py")
    assert place_in(Path("/l"), Skipped(path, "it raised ValueError at line 3", ())) == f"/l/{path}:3"
    assert place_in(Path("/l"), Skipped(path, "it uses online 3", ())) == f"/l/{path}"
