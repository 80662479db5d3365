"""A table of molecules with measured targets: one row per molecule, an empty cell where nothing was measured."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...runtime.errors import DataError, InputError, unknown
from ..dataset import REGISTRY, Dataset
from ..graphset import GraphSet
from ..tables.reading import MISSING
from .drawing import from_smiles, packed_drawings
from .fingerprints import BITS, ecfp
from .lines import is_table, read_cells, read_lines, smiles_column
from .splits import Split, given_split, random_split, scaffold_groups, scaffold_split
from .store import MoleculeStore
from .stored import stored

Kind = Literal["auto", "classification", "regression"]
SPLITS = ("scaffold", "random")
LARGEST = 1e15  # squares of larger numbers leave float32
BOOLEANS = {"true": 1.0, "false": 0.0}
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Assay(Dataset):
    """Molecules and what was measured of them.

    Attributes:
        store: the molecules that could be read, `store.lines` being their rows in the table, counted from 0.
        smiles: [rows] the SMILES of every row.
        targets: [len(store), T] float32, NaN where nothing was measured; classes are 0 and 1.
        names: the T columns.
        division: "scaffold", "random" (by `split_seed`), or the column whose text is `given`.
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
    task = "molecule"
    default_recipe = "default-assay"

    def __len__(self) -> int:
        return len(self.store)

    @property
    def readable(self) -> list[str]:
        """[len(store)] the SMILES of the molecules."""
        return [self.smiles[row] for row in self.store.lines]

    @property
    def metric(self) -> str:  # type: ignore[override]
        return "roc-auc" if self.kind == "classification" else "rmse"

    @property
    def in_channels(self) -> int:  # type: ignore[override]
        return self.store.in_channels

    @property
    def treatment(self) -> dict[str, Any]:  # type: ignore[override]
        return self.store.treatment

    @cached_property
    def split(self) -> Split:
        """Positions of the molecules to train on, to choose by and to test on."""
        if self.given:
            return given_split(self.given)
        if self.division == "random":
            return random_split(len(self), self.split_seed)
        return scaffold_split(self.store.derived("scaffolds", lambda: scaffold_groups(self.readable)))

    @cached_property
    def scored(self) -> np.ndarray:
        """The targets a score may look at: those of columns that have a value to train on."""
        unknown = np.isnan(self.targets[self.split["train"]]).all(axis=0)
        return np.where(unknown, np.float32("nan"), self.targets)

    def check_split(self) -> None:
        """Refuse a split by which nothing can be learned, chosen or tested."""
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

    def pretrain_sets(self) -> Iterator[GraphSet]:
        yield self.graphs()

    graph_sets = pretrain_sets

    def graphs(self) -> GraphSet:
        """The molecules as graphs."""
        return self.store.graphs(range(len(self)))

    def graph_ids(self) -> list[str]:
        """Rows of the table, counted from 1."""
        return [f"row {line + 1}" for line in self.store.lines.tolist()]

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        """What was measured, classes as text; in which part a molecule is; its SMILES; the table's other columns."""
        out: dict[str, Sequence[Any] | np.ndarray] = {}
        for name, values in zip(self.names, self.targets.T, strict=True):
            if self.kind == "classification":
                out[name] = [None if value != value else f"{value:.0f}" for value in values.tolist()]
            else:
                out[name] = values.astype(np.float64)
        parts: list[str | None] = [None] * len(self)
        for part, positions in self.split.items():
            for position in positions.tolist():
                parts[position] = part
        out |= {"split": parts, "SMILES": self.readable}
        header, rows = ([], []) if nodes is None else read_cells(Path(nodes))
        for column, name in enumerate(header):
            cells = [rows[line][column].strip() for line in self.store.lines] if name not in out else []
            if cells and cells != self.readable:
                numeric = _is_numeric([[cell] for cell in cells], 0)
                known = (None if cell.lower() in MISSING else cell for cell in cells)
                texts: list[Any] = [
                    float(BOOLEANS.get(cell.lower(), cell)) if cell and numeric else cell for cell in known
                ]
                out[name] = np.array([np.nan if cell is None else cell for cell in texts]) if numeric else texts
        return out

    def drawings(self, rows: Sequence[int]) -> tuple[list[bytes], list[str]]:
        readable = self.readable
        return packed_drawings(from_smiles(readable[i]) for i in rows)

    def fingerprints(self) -> np.ndarray:
        """[len(store), 2048] float32 zeros and ones."""
        packed = self.store.derived("ecfp", lambda: ecfp(self.readable))
        return np.unpackbits(packed, axis=1, count=BITS).astype(np.float32)

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


def read_assay(
    path: str | Path,
    smiles: str | None = None,
    targets: Sequence[str] | None = None,
    kind: Kind = "auto",
    split: str = "scaffold",
    split_seed: int = 0,
    name: str | None = None,
) -> Assay:
    """Read a table: .csv, .tsv (plain or .gz) or .parquet. Without `targets` it is the one column of numbers there.

    Columns that hold nothing but 0 and 1 (or −1 and 1) are classes, all others numbers, unless `kind` says so.
    `split` is "scaffold", "random" (by `split_seed`), or a column that says train, val or test.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    header, rows = _table(path)
    at = smiles_column(path, header, smiles)
    if split not in SPLITS and split not in header:
        raise InputError(f"{path}: {unknown('split', split, [*SPLITS, *header])}")
    wanted = _target_columns(path, header, rows, {at, *([header.index(split)] if split in header else [])}, targets)
    values = np.array([list(_numbers(path, header, rows, column)) for column in wanted], dtype=np.float32).T
    name = name or path.name.split(".")[0]
    store = stored([path], name, header[at])
    known, found = _classes(path, [header[column] for column in wanted], values[store.lines], kind)
    texts = tuple(row[at].strip() for row in rows)
    names = tuple(header[column] for column in wanted)
    given: tuple[str, ...] = ()
    if split in header:
        column = header.index(split)
        given = tuple(rows[row][column] for row in store.lines)
    return Assay(name, store, texts, found, names, known, split, split_seed, given)


def molecule_table(path: Path, smiles: str | None = None) -> tuple[list[str], list[list[str]], str | None]:
    """(header, rows, the column of SMILES) of a table, or of a list of SMILES, where that column has no name."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    if not is_table(path):
        return ["smiles"], [[line.text] for line in read_lines([path])], None
    header, rows = read_cells(path)
    return header, rows, header[smiles_column(path, header, smiles)]


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    if not is_table(path):
        raise InputError(f"{path} is not a table: it must be a .csv, .tsv or .parquet file with a header")
    return read_cells(path)


def _target_columns(
    path: Path, header: list[str], rows: list[list[str]], taken: set[int], wanted: Sequence[str] | None
) -> list[int]:
    if wanted:
        if wrong := [name for name in wanted if name not in header]:
            raise InputError(f"{path}: {unknown('column', wrong[0], header)}")
        if twice := [name for name in wanted if list(wanted).count(name) > 1]:
            raise InputError(f"{path}: the target {twice[0]!r} is named twice")
        if used := [header[column] for column in taken if header[column] in wanted]:
            raise InputError(f"{path}: {used[0]!r} holds the SMILES or the split, so it cannot be a target")
        return [header.index(name) for name in wanted]
    numeric = [i for i in range(len(header)) if i not in taken and _is_numeric(rows, i)]
    if len(numeric) != 1:
        found = _some([header[i] for i in numeric]) if numeric else "no column of numbers"
        raise InputError(f"{path}: say which columns are targets (--targets A,B); there is {found}")
    return numeric


def _numbers(path: Path, header: list[str], rows: list[list[str]], column: int) -> Iterator[float]:
    for number, row in enumerate(rows, 1):
        text = row[column].strip()
        if text.lower() in MISSING:
            yield float("nan")
            continue
        try:
            value = float(BOOLEANS.get(text.lower(), text))
        except ValueError:
            value = float("inf")
        if not abs(value) < LARGEST:
            where = f"{path}, row {number}, column {header[column]!r}"
            raise DataError(
                f"{where}: {text[:40]!r} is not a number, or too large; leave the cell empty if nothing was measured"
            )
        yield value


def _classes(
    path: Path, names: list[str], values: np.ndarray, kind: Kind
) -> tuple[Literal["classification", "regression"], np.ndarray]:
    """Which kind it is, and the values with classes 0 and 1."""
    measured = ~np.isnan(values)
    if not measured.any():
        raise DataError(f"{path}: no molecule has a value for {_some(names)}")
    seen = set(np.unique(values[measured]).tolist())
    if kind == "regression" or (kind == "auto" and not (seen <= {0.0, 1.0} or seen <= {-1.0, 1.0})):
        return "regression", values
    if not (seen <= {0.0, 1.0} or seen <= {-1.0, 1.0}):
        odd = sorted(seen - {0.0, 1.0})[0]
        raise DataError(f"{path}: classes must be 0 and 1, not {odd:g}; for numbers take the kind 'regression'")
    return "classification", np.where(measured, np.maximum(values, 0), values).astype(np.float32)


def _is_numeric(rows: list[list[str]], column: int) -> bool:
    texts = [row[column].strip() for row in rows]
    known = [text.lower() for text in texts if text.lower() not in MISSING]
    try:
        return bool(known) and bool(np.isfinite([float(BOOLEANS.get(text, text)) for text in known]).all())
    except ValueError:
        return False


def _is_empty(column: np.ndarray) -> bool:
    return bool(np.isnan(column).all())


def _is_constant(column: np.ndarray) -> bool:
    known = column[~np.isnan(column)]
    return len(known) == 0 or bool((known == known[0]).all())


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


@REGISTRY.register("assay")
def assay(
    root: str | Path | None = None,
    path: str = "",
    smiles: str = "",
    targets: Sequence[str] = (),
    kind: Kind = "auto",
    split: str = "scaffold",
    split_seed: int = 0,
) -> Assay:
    """Your own table from `data.path` (.csv, .tsv): a column of SMILES, and columns with what was measured."""
    if not path:
        raise DataError("data.name is 'assay', but data.path does not say which table")
    return read_assay(Path(path).expanduser(), smiles or None, list(targets) or None, kind, split, split_seed)
