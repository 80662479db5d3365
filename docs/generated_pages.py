"""Two pages that no hand writes: every command with its options, and the reference of the public names."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

from graphmae.api import COMMANDS
from graphmae.cli.main import app as cli

PARTS = ("encoders", "decoders", "masking", "losses", "methods", "data", "testing")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-docstring", as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill_in(app: Sphinx, page: str, text: list[str]) -> None:
    for name, make in {"commands": commands, "names": names}.items():
        marker = f"<!-- {name} -->"
        if marker in text[0]:
            text[0] = text[0].replace(marker, make())


def as_written(app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are written for people: a name that ends in an underscore is not a link."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"(`[^`]*`)", line)
            pieces[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)


def commands() -> str:
    """Markdown for all commands, from the same objects that parse the command line."""
    top = typer.main.get_command(cli)
    return "\n".join(line for name, command in top.commands.items() for line in _command(f"graphmae {name}", command))


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if hasattr(command, "commands"):
        yield f"{inspect.cleandoc(command.help or '')}\n"
        for inner, sub in command.commands.items():
            yield from (line.replace("## ", "### ", 1) for line in _command(f"{name} {inner}", sub))
        return
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    shown = [one for one in paragraphs if not one.startswith("Example: ")]
    yield "\n\n".join(re.sub(r"(?<!`)(--[a-z-]+)", r"`\1`", one) for one in shown) + "\n"
    examples = [one.removeprefix("Example: ") for one in paragraphs if one.startswith("Example: ")]
    if examples:
        yield "\n".join(["```console", *(f"$ {' '.join(one.split())}" for one in examples), "```\n"])
    yield "| | | default |\n|---|---|---|"
    for option in command.params:
        what = (getattr(option, "help", "") or "").replace("|", r"\|")
        yield f"| {_spelling(option)} | {what} | {_default(option)} |"
    yield ""


def _spelling(option: Any) -> str:
    if option.param_type_name == "argument":
        return f"`{option.metavar or option.name.upper()}`"
    return ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))


def _default(option: Any) -> str:
    if getattr(option, "required", False):
        return "required"
    value = option.default() if callable(option.default) else option.default
    return "" if value is False or value in (None, "", [], ()) else f"`{value}`"


def names() -> str:
    """Directives of autodoc for every public name: those of `graphmae`, then of its packages of parts."""
    import graphmae as gm

    others = [name for name in gm.__all__ if name not in COMMANDS and not inspect.ismodule(getattr(gm, name))]
    functions = [name for name in others if inspect.isfunction(getattr(gm, name))]
    lines = ["## Commands as functions\n", *_directives("graphmae", [*COMMANDS])]
    lines += ["## More functions\n", *_directives("graphmae", functions)]
    lines += ["## Classes\n", *_directives("graphmae", [name for name in others if name not in functions])]
    for part in PARTS:
        module = importlib.import_module(f"graphmae.{part}")
        summary = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0]
        public = [
            name
            for name in _public(module)
            if name not in others and _is_documented(getattr(module, name), module.__name__)
        ]
        lines += [f"## graphmae.{part}\n", f"{summary}\n", *_directives(module.__name__, public)]
    return "\n".join(lines)


def _public(module: Any) -> list[str]:
    return list(getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")])


def _is_documented(value: Any, module: str) -> bool:
    """Classes and functions of that package, and not what it imports from elsewhere."""
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith(module)


def _directives(module: str, names: list[str]) -> Iterator[str]:
    for name in names:
        value = getattr(importlib.import_module(module), name)
        kind = "class" if inspect.isclass(value) else "function"
        members = ["   :members:"] if kind == "class" and module == "graphmae" else []
        yield "\n".join(["```{eval-rst}", f".. auto{kind}:: {module}.{name}", *members, "```\n"])
