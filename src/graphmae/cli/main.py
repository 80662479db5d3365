"""`graphmae`: one small module per command, put together here."""

from __future__ import annotations

import importlib
import logging
import os
import sys

import typer

from ..api import COMMANDS
from ..runtime import ranks
from ..runtime.errors import GraphMAEError, Interrupted
from ..runtime.files import NO_SPACE, as_path
from ..runtime.memory import is_out_of_memory, out_of_memory
from .checks import checked

app = typer.Typer(
    name="graphmae",
    help="Pre-train a graph encoder on unlabelled graphs, get embeddings or a fine-tuned model, see how good they are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in COMMANDS:
    command = getattr(importlib.import_module(f".{name}", __package__), name)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command()(checked(command))


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    trust: bool = typer.Option(
        False, "--trust", help="Read data files that cannot be checked: you know where they come from."
    ),
) -> None:
    if ranks.size() > 1 and context.invoked_subcommand not in DIVIDED:
        ranks.check_alone(f"graphmae {context.invoked_subcommand}")
    if trust:
        os.environ["GRAPHMAE_TRUST"] = "1"  # for processes started from here as well
    if version:
        from ..runtime.environment import package_version

        typer.echo(package_version())
        raise typer.Exit


DIVIDED = {"pretrain", "run", "embed", "doctor"}  # what several processes do together


def _begin_rank() -> None:
    """One of several processes: results and progress are rank 0's."""
    # Torch's warning that looking for weights without a gradient costs time, once per process.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    if ranks.rank():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
        logging.getLogger("graphmae").setLevel(logging.ERROR)


def _of_stdout(error: OSError) -> str:
    """What a full disk without a file's name is, if it is that of the standard output: one more line does not fit."""
    if error.errno not in NO_SPACE:
        return ""
    try:
        os.write(1, b"\n")
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nor does what is left to be written at the end
        return "the standard output cannot be written: "
    return ""


INPUT_ERRORS = (PermissionError, NotADirectoryError, IsADirectoryError, FileNotFoundError, FileExistsError)


def main() -> None:
    """Errors become one message and an exit code (1 the run failed, 2 the input is wrong)."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("graphmae").setLevel(logging.INFO)
    if ranks.size() > 1:
        _begin_rank()
    # Waiting threads sleep early: several times faster on a busy machine, and as fast on a quiet one.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    try:
        for word in sys.argv[1:]:
            as_path(word, "an argument")
        app()
    except GraphMAEError as error:
        if not (ranks.rank() and isinstance(error, Interrupted)):
            typer.echo(str(error) if isinstance(error, Interrupted) else f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        at = f"{error.filename}: " if error.filename else _of_stdout(error)
        typer.echo(f"error: {at}{error.strerror or error}", err=True)
        sys.exit(2 if isinstance(error, INPUT_ERRORS) else 1)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        typer.echo(f"error: {out_of_memory(error)}", err=True)
        sys.exit(1)
