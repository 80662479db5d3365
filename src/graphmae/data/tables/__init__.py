"""Graphs from tables: read, checked, encoded; every repair and every problem in one report."""

from .dataset import TableGraph
from .drift import Drift
from .graph import from_tables
from .reading import is_table, not_a_table, read_table
from .writing import write_rows, write_table

__all__ = ["Drift", "TableGraph", "from_tables", "is_table", "not_a_table", "read_table", "write_rows", "write_table"]
