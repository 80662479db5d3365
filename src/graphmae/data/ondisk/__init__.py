"""A graph on disk: compressed rows and features in a folder of mapped arrays, built in one pass over the edges."""

from .building import FEATURE_TYPES, store_dataset, store_raw, store_tables
from .dataset import StoredGraph
from .layout import HEADER
from .raw import find_raw

__all__ = ["FEATURE_TYPES", "HEADER", "StoredGraph", "find_raw", "store_dataset", "store_raw", "store_tables"]
