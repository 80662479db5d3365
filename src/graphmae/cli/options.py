"""Options several commands share, and how results are printed."""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ..registry import import_parts
from ..results import Result
from ..runtime.errors import InputError
from ..runtime.values import check_seeds

__all__ = [
    "DataRoot",
    "Device",
    "Duplicates",
    "Force",
    "Id",
    "Import",
    "Json",
    "Label",
    "Report",
    "Resume",
    "Seeds",
    "Set",
    "Show",
    "Source",
    "Strict",
    "Target",
    "import_parts",
    "parse_seeds",
    "print_json",
    "print_lines",
    "print_report",
    "print_table",
]

Set = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key, e.g. mask.rate=0.75. Repeatable."),
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with benchmark data in PyG's layout (default: GRAPHMAE_DATA)."),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Import = Annotated[
    list[str],
    typer.Option(
        "--import", metavar="FILE", help="Python file or module that registers parts of your own. Repeatable."
    ),
]
Id = Annotated[
    str, typer.Option("--id", help="Node table: the column with ids (default: that of training, or the obvious one).")
]
Source = Annotated[str, typer.Option("--source", help="Edge table: the column an edge comes from.")]
Target = Annotated[str, typer.Option("--target", help="Edge table: the column an edge goes to.")]
Duplicates = Annotated[
    str,
    typer.Option(
        "--duplicates", help="Node table: rows that repeat an id with other values: first, last or refuse (default)."
    ),
]
Label = Annotated[
    str, typer.Option("--label", help="Node table: the column with classes; kept out of the features, for evaluation.")
]
Show = Annotated[
    str, typer.Option("--show", metavar="COLUMN", help="Node table: a column to print beside ids, such as names.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse tables that have moved since training.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")]
Force = Annotated[
    bool, typer.Option("--force", help="With --resume: go on although the code that --import reads has changed.")
]
Report = Annotated[bool, typer.Option("--report", help="Write report.html into the folder, a page to look at.")]
Seeds = Annotated[str, typer.Option("--seeds", help="Seeds: 0, 0-19, 0,3,7.")]


def parse_seeds(text: str) -> list[int]:
    """'0-3,7' → [0, 1, 2, 3, 7]."""
    ranges = []
    try:
        for piece in text.split(","):
            first, dash, last = piece.strip().partition("-")
            ranges.append(range(int(first), int(last if dash else first) + 1))
    except ValueError:
        raise InputError(f"--seeds {text!r} is not a list of seeds; write 0, 0-19 or 0,3,7") from None
    if not all(ranges):
        raise InputError(f"--seeds {text!r} has a range that ends before it begins; write 3-5, not 5-3")
    return check_seeds(chain.from_iterable(ranges))  # not a list before they are counted


def print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value))


def print_report(path: Path) -> None:
    """Where a page is, and how to look at it."""
    typer.echo(f"The report is {path}. Open it in a browser: {path.resolve().as_uri()}")


def print_table(result: Result, title: str = "") -> None:
    """The comparison table on stdout."""
    header, lines = result.table()
    print_lines(header, lines, title, result.label(result.row))


def print_lines(header: list[str], lines: list[list[str]], title: str = "", bold: str | None = None) -> None:
    """A table on stdout; the line that begins with `bold` stands out."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE_HEAD, title=title or None, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for line in lines:
        table.add_row(*line, style="bold" if line[0] == bold else None)
    width = None if sys.stdout.isatty() else 120
    Console(width=width, highlight=False).print(table)
