"""A table of molecules with measured targets: one row per molecule, an empty cell where nothing was measured."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...runtime.errors import DataError, InputError
from ..dataset import Dataset
from ..graphset import GraphSet
from . import records
from .facets import facets_of
from .fingerprints import BITS, ecfp
from .measurements import Measurements
from .sketches import from_smiles, packed_drawings
from .splits import (
    Split,
    balanced_split,
    given_split,
    random_split,
    scaffold_groups,
    scaffold_split,
    time_split,
)
from .store import MoleculeStore

FEWEST = {"train": 5, "val": 2, "test": 2}  # molecules; with fewer nothing can be learned or said
FEW = {"train": 50, "val": 20, "test": 20}  # with fewer a score says little
logger = logging.getLogger("graphmae")
_is_known = ContextVar("_is_known", default=False)


@contextmanager
def known_already() -> Iterator[None]:
    """A block in which tables are read that were read and reported before."""
    before = _is_known.set(True)
    try:
        yield
    finally:
        _is_known.reset(before)


@dataclass(frozen=True)
class Assay(Dataset):
    """M molecules and what was measured of them.

    Attributes:
        store: the M molecules.
        smiles: [M] how they are written; standardised where `standardized` says so.
        targets: [M, T] float32, NaN where nothing was measured; classes are 0 and 1.
        names: the T columns.
        division: "scaffold", "scaffold-balanced" or "random" (by `split_seed`), "time:COLUMN", "group:COLUMN", or a
            column that says train, val or test; the text of the column is `given`.
        ids: [M] what the table calls them; the number of the row, from 1 up, where it does not.
        bounds: [M, T] int8: 1 where the true value is above the given one (">10000"), −1 where it is below, else 0.
        rows: [M] the rows of the table, counted from 0, each molecule was measured in.
        train_size: how many of the training part are used, drawn at random by `split_seed`, and as large a share of the
            validation part; 0: all.
        origin: what was read, row by row, with notes and refused rows.
        standardized: whether salts were removed and charges neutralised; new molecules have to be treated so too, which
            is why it is in `treatment`, and with that in the checkpoint of a predictor.
    """

    name: str
    store: MoleculeStore
    smiles: tuple[str, ...]
    targets: np.ndarray
    names: tuple[str, ...]
    kind: Literal["classification", "regression"]
    division: str = "scaffold"
    split_seed: int = 0
    given: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    standardized: bool = False
    bounds: np.ndarray | None = None
    rows: tuple[tuple[int, ...], ...] = ()
    origin: Measurements | None = None
    train_size: int = 0
    task = "molecule"
    default_recipe = "default-assay"

    def __len__(self) -> int:
        return len(self.store)

    def digest(self) -> str:
        bounds = b"" if self.bounds is None else self.bounds.tobytes()
        texts = "\n".join([*self.names, *self.smiles, *self.given]).encode()
        return hashlib.sha256(b"\0".join([texts, np.ascontiguousarray(self.targets).tobytes(), bounds])).hexdigest()

    @property
    def readable(self) -> list[str]:
        """[M] the SMILES of the molecules."""
        return list(self.smiles)

    @property
    def metric(self) -> str:  # type: ignore[override]
        return "roc-auc" if self.kind == "classification" else "rmse"

    @property
    def in_channels(self) -> int:  # type: ignore[override]
        return self.store.in_channels

    @property
    def treatment(self) -> dict[str, Any]:  # type: ignore[override]
        return {**self.store.treatment, **({"standardize": True} if self.standardized else {})}

    @cached_property
    def groups(self) -> np.ndarray:
        """[M] int32: a number for the scaffold of every molecule; those of one scaffold belong in one part or fold."""
        return self.store.derived("scaffolds", lambda: scaffold_groups(self.smiles))

    @cached_property
    def split(self) -> Split:
        """Positions of the molecules to train on, to choose by and to test on."""
        whole = self._whole_split()
        if not self.train_size:
            return whole
        if not 0 < self.train_size <= len(whole["train"]):
            raise InputError(f"data.train_size must be 0 or up to {len(whole['train'])}, not {self.train_size}")
        share = self.train_size / len(whole["train"])
        few = {"train": self.train_size, "val": max(FEWEST["val"], round(share * len(whole["val"])))}
        drawn = np.random.default_rng(self.split_seed)
        return {
            part: np.sort(drawn.permutation(positions)[: few.get(part, len(positions))]) if part in few else positions
            for part, positions in whole.items()
        }

    def _whole_split(self) -> Split:
        way, _, column = self.division.partition(":")
        if way == "time" and column:
            return time_split([float(text) for text in self.given])
        if way == "group" and column:
            own = {text: number for number, text in enumerate(dict.fromkeys(self.given))}
            alone = len(own)  # a molecule without a group is one of its own
            groups = [own[text] if text else alone + number for number, text in enumerate(self.given)]
            return scaffold_split(groups, what=column)
        if self.given:
            return given_split(self.given)
        if self.division == "random":
            return random_split(len(self), self.split_seed)
        if self.division == "scaffold-balanced":
            return balanced_split(self.groups, self.split_seed)
        return scaffold_split(self.groups)

    @cached_property
    def scored(self) -> np.ndarray:
        """[M, T] the targets a score may look at: exact values, of columns that have a value to train on."""
        unknown = np.isnan(self.targets[self.split["train"]]).all(axis=0)
        hidden = unknown if self.bounds is None else unknown | (self.bounds != 0)
        return np.where(hidden, np.float32("nan"), self.targets)

    def check_split(self) -> None:
        """Refuse a split by which nothing can be learned, chosen or tested; warn where it says little."""
        if len(self) < sum(FEWEST.values()):
            raise DataError(
                f"{self.name}: {len(self)} molecules are too few: 5 to train on, 2 to choose by and 2 to test on are "
                "the least, which takes about 20 in all, or a column that says which is which (--split COLUMN)"
            )
        sizes = {part: len(positions) for part, positions in self.split.items()}
        if small := [part for part, size in sizes.items() if size < FEWEST[part]]:
            parts = "/".join(str(size) for size in sizes.values())
            raise DataError(
                f"{self.name}: {len(self)} molecules are {parts} to train on, choose by and test on; {small[0]} "
                f"needs {FEWEST[small[0]]} at least: with about 20 molecules all parts have enough, or name other "
                "parts (--split COLUMN)"
            )
        untrained = np.isnan(self.targets[self.split["train"]]).all(axis=0)
        if untrained.any() and not untrained.all():
            names = _some([name for name, empty in zip(self.names, untrained, strict=True) if empty])
            logger.warning("%s: no value to train on for %s; no score counts them", self.name, names)
        for part, positions in self.split.items():
            measured = self.kind == "regression" and part != "train"  # an error can be computed of any value
            poor = _is_empty if measured else _is_constant
            if all(poor(column) for column in self.scored[positions].T):
                lacks = "both classes" if self.kind == "classification" else "a value" if measured else "two values"
                raise DataError(
                    f"{self.name}: in the {part} part ({len(positions)} molecules) no target has {lacks}; "
                    "take --split random, a column of your own, or more molecules"
                )

        self._warn_of_few()

    def _warn_of_few(self) -> None:
        few = [f"{len(self.split[part])} in the {part} part" for part in FEW if len(self.split[part]) < FEW[part]]
        if few:
            logger.warning("%s: few molecules, %s: its score says little", self.name, ", ".join(few))
        elif self.kind == "classification":
            test = self.scored[self.split["test"]]
            rarer = np.minimum((test == 0).sum(axis=0), (test == 1).sum(axis=0))
            if rarer.max() < FEW["test"] // 4:
                logger.warning("%s: %d of the rarer class to test on: the score says little", self.name, rarer.max())

    def pretrain_sets(self) -> Iterator[GraphSet]:
        yield self.graphs()

    graph_sets = pretrain_sets

    def graphs(self) -> GraphSet:
        """The molecules as graphs."""
        return self.store.graphs(range(len(self)))

    def graph_ids(self) -> list[str]:
        """What the table calls the molecules, or its rows, counted from 1."""
        return list(self.ids) or [f"row {line + 1}" for line in self.store.lines.tolist()]

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        return facets_of(self, nodes)

    def drawings(self, rows: Sequence[int]) -> tuple[list[bytes], list[str]]:
        readable = self.readable
        return packed_drawings(from_smiles(readable[i]) for i in rows)

    def fingerprints(self) -> np.ndarray:
        """[len(store), 2048] float32 zeros and ones."""
        packed = self.store.derived("ecfp", lambda: ecfp(self.smiles))
        return np.unpackbits(packed, axis=1, count=BITS).astype(np.float32)

    @property
    def remarks(self) -> list[str]:
        """What was guessed, changed and left out when the table was read."""
        return [*records.notes(self), *records.refusals(self)]

    def report(self) -> None:
        """Log the same, unless it is `known_already`."""
        if _is_known.get():
            return
        for text in records.notes(self):
            logger.info("%s: %s", self.name, text)
        for text in records.refusals(self):
            logger.warning("%s: %s", self.name, text)

    def write_records(self, folder: Path) -> None:
        """split.csv, which row of the table is in which part, and refused.csv, which was left out and why."""
        records.write(self, folder)

    def write_answers(self, answers: np.ndarray, folder: Path) -> None:
        """answers.csv: predictions [M, T] beside what was measured."""
        records.write_answers(self, answers, folder)

    def summary(self) -> Iterator[tuple[str, int]]:
        yield from self.store.summary()
        yield "targets", len(self.names)
        yield from ((part, len(positions)) for part, positions in self.split.items())

    def check_labels(self) -> None:
        """Refuse targets nothing can be learned from; say which of several are so."""
        constant = [name for name, column in zip(self.names, self.targets.T, strict=True) if _is_constant(column)]
        what = "one class" if self.kind == "classification" else "one value"
        if len(constant) == len(self.names):
            raise DataError(f"{self.name}: {_some(constant)} has only {what}, so there is nothing to learn")
        if constant:
            logger.warning(
                "%s: %d of %d targets have only %s: %s",
                self.name,
                len(constant),
                len(self.names),
                what,
                _some(constant),
            )


def _is_empty(column: np.ndarray) -> bool:
    return bool(np.isnan(column).all())


def _is_constant(column: np.ndarray) -> bool:
    known = column[~np.isnan(column)]
    return len(known) == 0 or bool((known == known[0]).all())


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
