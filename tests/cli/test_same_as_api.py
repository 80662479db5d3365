"""`graphmae X` and `gm.X` are the same thing: the same names, the same options."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import graphmae as gm
from graphmae import api
from graphmae.cli.main import app

CLI = Path(__file__).parents[2] / "src/graphmae/cli"
COMMANDS = {command.name or command.callback.__name__: command.callback for command in app.registered_commands}
# What an option of the command line is called in Python.
NAMES = {
    "set_": "overrides", "data": "data_root", "import_": None, "seeds": "seeds", "sources": "data",
    "checkpoint": "model", "json_": None,  # printing and importing are the command line's business
    "id_": "columns", "source": "columns", "duplicates": "columns", "target": "columns", "label": "columns",
}  # fmt: skip
# Where the function's own word says more.
OWN = {
    "run": {"recipe": "source", "import_": "imports"},
    "pretrain": {"recipe": "model", "from_": "start"},
    "evaluate": {"split": "columns"},
    "store": {"split": "columns"},
    "finetune": {"checkpoint": "checkpoint"},
    "curve": {"checkpoint": "checkpoint"},
    "predict": {"table": "molecules"},
    "explain": {"table": "molecules", "target": "target"},
    "doctor": {"data": "root"},
    "links": {"predict": None},
}
ALSO = {"links": api.predict_links}  # what a command calls with an option of its own, --predict


def test_every_command_is_a_function_of_the_package() -> None:
    assert len(COMMANDS) >= 15
    for name in [*COMMANDS, "recipes"]:
        assert callable(getattr(gm, name)) and getattr(gm, name) is getattr(api, name)
        assert name in gm.__all__ and name in dir(gm)
    # what the commands are made of
    others = {"check_arguments", "check_assay", "load", "predict_links", "recipe", "run_folder"}
    assert set(api.__all__) - others == set(api.COMMANDS) == {*COMMANDS, "recipes"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_options_are_the_same(name: str) -> None:
    taken = dict(inspect.signature(getattr(api, name)).parameters)
    if name in ALSO:
        taken |= inspect.signature(ALSO[name]).parameters
    for option in inspect.signature(COMMANDS[name]).parameters:
        called = {**NAMES, **OWN.get(name, {})}.get(option, option)
        assert called is None or called in taken, f"graphmae {name} has {option}, gm.{name} does not"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    text = inspect.getdoc(COMMANDS[name]) or ""
    assert text
    assert name in ("demo", "doctor") or f"Example: graphmae {name}" in text


def test_the_command_line_parses_calls_the_api_and_prints() -> None:
    """Beside the api: errors, the names of files and recipes, and results, none of which imports torch."""
    allowed = {"api", "runtime", "results", "registry", "config", "reporting", ""}
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                package = (node.module or "").split(".")[0]
                assert package in allowed, f"{path.name} imports {package}"
                assert package or [alias.name for alias in node.names] == ["api"], path.name
