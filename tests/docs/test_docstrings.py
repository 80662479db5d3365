"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import graphmae

SKIPPED = ("graphmae.__main__", "graphmae.kernels.cuda")  # starts the program; needs Triton, and has no examples


def ignored(name: str) -> None:
    """A package that cannot be imported here is not walked into."""


FOUND = pkgutil.walk_packages(graphmae.__path__, "graphmae.", onerror=ignored)
MODULES = [m.name for m in FOUND if not m.name.startswith(SKIPPED)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    failed = doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed
    assert failed == 0
