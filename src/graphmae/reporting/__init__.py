"""Tables and figures from what experiments leave behind. Reads JSON; knows no torch."""

from .comparison import Comparison
from .ledger import Entry, entry_of, read_ledger, write_ledger
from .paper import EXPERIMENTS, TABLES, Experiment, experiments_of

__all__ = [
    "EXPERIMENTS",
    "TABLES",
    "Comparison",
    "Entry",
    "Experiment",
    "entry_of",
    "experiments_of",
    "read_ledger",
    "write_ledger",
]
