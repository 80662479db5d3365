"""graphmae recipes list | show | copy | check"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from ..config.library import find, names, read_text
from ..runtime.errors import InputError
from .options import Import, Json, Set, import_parts, print_json

recipes = typer.Typer(
    help="Experiments, one file each: node/, graph/, molecule/ and ablation/ as published, others as they say.",
    no_args_is_help=True,
)


@recipes.command("list")
def list_(json_: Json = False) -> None:
    """Every recipe, with the number the paper prints."""
    found = []
    for name in names():
        raw = tomllib.loads(find(name)[0].read_text(encoding="utf-8"))
        found.append((name, raw.get("about", {}).get("title", ""), raw.get("published")))
    if json_:
        print_json({name: {"title": title, "published": published} for name, title, published in found})
        return
    for name, title, published in found:
        number = published["mean"] if published else ""
        spread = f" ± {published['std']}" if published and "std" in published else ""
        typer.echo(f"{name:37} {f'{number}{spread}':14} {title}".rstrip())


@recipes.command()
def show(recipe: Annotated[str, typer.Argument(help="A recipe's id or a file.")]) -> None:
    """Print a recipe.

    Example: graphmae recipes show node/cora
    """
    typer.echo(read_text(find(recipe)[0]).rstrip())


@recipes.command()
def copy(
    recipe: Annotated[str, typer.Argument(help="A recipe's id.")],
    file: Annotated[Path, typer.Argument(help="Where to write it.")],
) -> None:
    """Copy a recipe into a file of your own, to change and run.

    Example: graphmae recipes copy node/cora mine.toml
    """
    text = read_text(find(recipe)[0])
    if file.exists():
        raise InputError(f"{file} exists already; nothing was written")
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder")
    from .. import api

    published = api.recipe(recipe).published
    if published is not None:  # it belongs to these settings, and not to those the copy will have
        text = text.replace("[published]\n", f'[published]\nsettings = "{published.settings}"\n', 1)
    file.write_text(text, encoding="utf-8")
    typer.echo(f"Wrote {file}. Next: graphmae run {file}")


@recipes.command()
def check(
    recipe: Annotated[str, typer.Argument(help="A recipe's id or a file.")],
    set_: Set = [],  # noqa: B006
    import_: Import = [],  # noqa: B006
) -> None:
    """Check a recipe without running it: every problem at once.

    Example: graphmae recipes check mine.toml --set mask.rate=0.9
    """
    from .. import api

    api.check_arguments(recipe=recipe, overrides=set_, own_parts=bool(import_))
    import_parts(import_)
    made = api.recipe(recipe, *set_)
    typer.echo(f"{made.id} is fine: {made.encoder.name} on {made.data.name}, {made.train.epochs} epochs")
