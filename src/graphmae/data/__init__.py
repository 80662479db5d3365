"""What comes in: benchmark sets, graph files, PyG objects. Everything is checked once, here.

Names are resolved when they are first used: reading a table imports no torch.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import benchmarks as benchmarks
    from . import facts as facts
    from . import files as files
    from . import molecules as molecules
    from .benchmarks.tu import load_tu as load_tu
    from .benchmarks.tu import read_tu as read_tu
    from .checks import check_graph as check_graph
    from .dataset import Dataset as Dataset
    from .files import from_data as from_data
    from .files import read_graph as read_graph
    from .graphset import GraphSet as GraphSet
    from .molecules import MoleculeStore as MoleculeStore
    from .nodes import NodeDataset as NodeDataset
    from .objects import from_edges as from_edges
    from .objects import from_networkx as from_networkx
    from .objects import from_scipy as from_scipy
    from .open import REGISTRY as REGISTRY
    from .open import load as load
    from .open import open_dataset as open  # noqa: F401
    from .scaling import prepare as prepare
    from .tables import TableGraph as TableGraph
    from .tables import from_tables as from_tables

    register, names = REGISTRY.register, REGISTRY.names

_MODULES = ("benchmarks", "facts", "files", "molecules")
_NAMES = {
    **dict.fromkeys(("load_tu", "read_tu"), "benchmarks.tu"),
    "check_graph": "checks",
    "Dataset": "dataset",
    **dict.fromkeys(("from_data", "read_graph"), "files"),
    "GraphSet": "graphset",
    "MoleculeStore": "molecules",
    "NodeDataset": "nodes",
    **dict.fromkeys(("from_edges", "from_networkx", "from_scipy"), "objects"),
    **dict.fromkeys(("REGISTRY", "load"), "open"),  # which imports every module that registers sets
    "prepare": "scaling",
    **dict.fromkeys(("TableGraph", "from_tables"), "tables"),
}
__all__ = sorted([*_NAMES, *_MODULES, "names", "open", "register"])


class _Data(types.ModuleType):
    """`open` is a function; importing the module of that name must not put it in its place."""

    @property
    def open(self) -> Any:
        return importlib.import_module(".open", __name__).open_dataset

    @open.setter
    def open(self, module: types.ModuleType) -> None: ...


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in ("register", "names"):
        return getattr(importlib.import_module(".open", __name__).REGISTRY, name)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module 'graphmae.data' has no attribute {name!r}")


sys.modules[__name__].__class__ = _Data
