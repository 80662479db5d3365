"""Which parts there are and what options they take, read from their source: importing them takes seconds.

Good enough to find a mistake early; what passes is checked in full against the constructors, by the registries.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import metadata, resources
from itertools import chain
from pathlib import Path

# Recipe section → where its parts are, below the package.
FOLDERS = {
    "data": "data",
    "method": "methods",
    "mask": "masking",
    "encoder": "encoders",
    "decoder": "decoders",
    "loss": "losses.py",
}

SIGNS = ("register(", "def __init__(", "def build(", "] = {")  # of files with parts, their options, or names of parts


@cache
def part_names(section: str) -> frozenset[str]:
    """Names of all registered parts: those in decorators, and those a loop over a dictionary registers."""
    names, looped, keys = set[str](), set[str](), dict[str, set[str]]()
    for node in _nodes(section):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register":
            names |= {str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)}
        elif isinstance(node, ast.For) and "_register(" in ast.unparse(node):
            looped.add(ast.unparse(node.iter))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            found = {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
            keys.setdefault(ast.unparse(node.target), set()).update(found)
    entries = {point.name for point in metadata.entry_points(group=f"graphmae.{section}")}
    return frozenset(names.union(entries, *(keys.get(name, set()) for name in looped)))


@cache
def part_options(section: str) -> frozenset[str]:
    """Options of any part of a section: more than one of them takes; empty where others bring parts of their own."""
    if metadata.entry_points(group=f"graphmae.{section}"):
        return frozenset()
    options = {"name"}
    for node in _nodes(section):
        is_part = isinstance(node, ast.FunctionDef) and "register(" in " ".join(map(ast.unparse, node.decorator_list))
        if isinstance(node, ast.FunctionDef) and (is_part or node.name in ("__init__", "build")):
            options |= {arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)} - {"self", "root"}
    return frozenset(options)


@cache
def _nodes(section: str) -> tuple[ast.AST, ...]:
    place = Path(str(resources.files("graphmae"))) / FOLDERS[section]
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    texts = (path.read_text(encoding="utf-8") for path in paths)
    # Most of the time is parsing, and most files have none of what is looked for.
    return tuple(chain.from_iterable(ast.walk(ast.parse(text)) for text in texts if any(map(text.__contains__, SIGNS))))
