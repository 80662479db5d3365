"""Graphs from tables: read, checked, encoded; every repair and every problem in one report.

Names are resolved when they are first used: reading a table imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dataset import TableGraph as TableGraph
    from .drift import Drift as Drift
    from .graph import from_tables as from_tables
    from .reading import is_table as is_table
    from .reading import not_a_table as not_a_table
    from .reading import read_table as read_table
    from .writing import write_rows as write_rows
    from .writing import write_table as write_table

_NAMES = {
    "TableGraph": "dataset",
    "Drift": "drift",
    "from_tables": "graph",
    **dict.fromkeys(("is_table", "not_a_table", "read_table"), "reading"),
    **dict.fromkeys(("write_rows", "write_table"), "writing"),
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'graphmae.data.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
