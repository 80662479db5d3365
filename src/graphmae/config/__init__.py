"""Recipes: one experiment as data. `load` reads and checks, `Recipe.override` changes."""

from .library import find, names
from .loader import assigned, check_early, check_used, load, merge, parse, stored_problems
from .schema import Embedding, Evaluation, Finetune, Part, Published, Recipe, Supervised, Train
from .toml import to_toml

__all__ = [
    "Embedding",
    "Evaluation",
    "Finetune",
    "Part",
    "Published",
    "Recipe",
    "Supervised",
    "Train",
    "assigned",
    "check_early",
    "check_used",
    "find",
    "load",
    "merge",
    "names",
    "parse",
    "stored_problems",
    "to_toml",
]
