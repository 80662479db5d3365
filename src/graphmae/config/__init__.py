"""Recipes: one experiment as data. `load` reads and checks, `Recipe.override` changes."""

from .library import find, names
from .loader import load, parse
from .schema import Evaluation, Finetune, Part, Published, Recipe, Train

__all__ = ["Evaluation", "Finetune", "Part", "Published", "Recipe", "Train", "find", "load", "names", "parse"]
