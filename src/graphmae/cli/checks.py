"""What every command checks first: its arguments, known by their names, before torch is imported."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

COLUMNS = {"id_": "id", "select": "label", **{role: role for role in ("source", "target", "label", "split", "show")}}
READ = ("sources", "nodes", "edges", "table", "checkpoint", "model", "runs", "recipe")  # arguments that name files
# What a command calls an argument → what `check_arguments` does.
NAMES = {
    "checkpoint": "checkpoint", "set_": "overrides", "device": "device", "data": "data_root", "recipe": "recipe",
}  # fmt: skip


def checked(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with its arguments checked before it is run."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        from .. import api
        from ..api.arguments import OUT_FORMATS, check_output

        if command.__name__ in OUT_FORMATS:
            check_output(command.__name__, arguments["out"], *(arguments.get(name) for name in READ))
        api.check_arguments(**_understood(arguments))
        command(**arguments)

    return run


def _understood(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command as `check_arguments` takes them."""
    known = {NAMES[name]: value for name, value in arguments.items() if name in NAMES and value}
    if "runs" in arguments:
        known["runs"] = arguments["runs"]
    known["own_parts"] = bool(arguments.get("import_"))
    if "sources" in arguments:
        known["data"] = arguments["sources"]
    elif "nodes" in arguments:
        known["data"] = [arguments["nodes"], *arguments["edges"]]
    elif isinstance(found := arguments.get("file", arguments.get("table")), Path):  # `reproduce` has tables by name
        known["file"] = found
    known["columns"] = {role: arguments[name] for name, role in COLUMNS.items() if arguments.get(name)}
    if "model" in arguments:
        known |= {"checkpoint": arguments["model"], "kind": "predictor"}
    if arguments.get("epochs") is not None:
        known["overrides"] = [f"train.epochs={arguments['epochs']}", *arguments["set_"]]
    if "seed" in arguments:
        known["seeds"] = [arguments["seed"]]
    if "resume" in arguments:
        known |= {"out": arguments.get("out"), "resume": arguments["resume"]}
    return known
