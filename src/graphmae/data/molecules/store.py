"""Many molecules in a folder of flat arrays: five bytes for an atom and its bond, opened without reading them.

NAME/meta.json  what it was made of; written last, so a folder that has it is complete
NAME/sizes.npy  [M, 2] atoms and bonds of every molecule
NAME/atoms.npy  [N, 2] codes · NAME/bonds.npy [B, 2] the two atoms · NAME/kinds.npy [B] type and direction
NAME/lines.npy  [M] which of the SMILES strings each molecule was, counting from 0
NAME/bad.tsv    strings that are not molecules: file, line, text
NAME/*.npy      what follows from the molecules and was asked for: scaffolds, fingerprints
NAME/parts/     while it is being built; an interrupted build goes on from there
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...runtime.errors import DataError
from ...runtime.files import replacing
from ...runtime.untrusted import read_object
from ..dataset import Dataset
from ..graphset import GraphSet
from .bonds import LOOP_CODE, bond_sums, bond_table
from .columns import labels
from .integrity import DamagedStore, check_arrays, check_codes
from .lines import stretches
from .sketches import from_store, packed_drawings
from .smiles import ATOMS, CHIRALITIES, parse, silenced

FORMAT = 1
ARRAYS = ("sizes", "atoms", "bonds", "kinds", "lines")


@dataclass(frozen=True)
class MoleculeStore(Dataset):
    """Molecules in `folder`; arrays are mapped into memory, not read.

    >>> store = MoleculeStore.open("zinc")  # doctest: +SKIP
    >>> len(store), store.graphs(range(256)).in_channels  # doctest: +SKIP
    (2186418, 124)
    """

    folder: Path
    meta: dict[str, Any]
    sizes: np.ndarray
    atoms: np.ndarray
    bonds: np.ndarray
    kinds: np.ndarray
    lines: np.ndarray
    sources: tuple[Path, ...] = ()  # the files it was made of, where they are still there
    column: str | None = None
    task = "none"
    default_recipe = "molecule/zinc"
    in_channels = ATOMS + CHIRALITIES
    target_channels = ATOMS  # the kind of atom

    @classmethod
    def open(cls, folder: str | Path) -> MoleculeStore:
        folder = Path(folder)
        if not (folder / "meta.json").is_file():
            raise DataError(f"{folder} is not a complete store of molecules; pre-training on its .smi file builds one")
        meta = read_object(folder / "meta.json")
        if meta.get("format") != FORMAT:
            raise DataError(f"{folder} has format {meta.get('format')}, this version reads {FORMAT}; build it again")
        try:
            arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
            check_arrays(meta, *arrays)
        except Exception as error:  # a damaged array can raise anything; all of it means the same to the user
            raise DamagedStore(f"{folder} is damaged ({error}); delete it, and it is built again") from None
        return cls(folder, meta, *arrays)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.meta["name"])

    @property
    def num_lines(self) -> int:
        """Molecules, and strings that are none."""
        return int(self.meta["molecules"] + self.meta["bad"])

    @property
    def treatment(self) -> dict[str, Any]:  # type: ignore[override]
        return {"features": "molecule", "self_loops": True}

    def check_labels(self) -> None:
        raise DataError(f"{self.name} has no labels: it is for pre-training alone (graphmae pretrain)")

    def summary(self) -> Iterator[tuple[str, int]]:
        yield "graphs", len(self)
        yield "nodes", len(self.atoms)
        yield "edges", 2 * len(self.bonds) + len(self.atoms)
        yield "features", self.in_channels

    def derived(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Something that follows from the molecules alone: made once, kept beside them as `name`.npy."""
        path = self.folder / f"{name}.npy"
        with suppress(Exception):  # not there yet, or damaged in whatever way: made again
            return np.load(path)
        made = make()
        with replacing(path) as partial:
            np.save(partial, made)
        return np.load(path)

    @cached_property
    def _pointers(self) -> tuple[np.ndarray, np.ndarray]:
        """[M + 1] where each molecule's atoms and bonds begin."""
        ends = np.cumsum(self.sizes, axis=0, dtype=np.int64)
        ends = np.concatenate([np.zeros((1, 2), np.int64), ends])
        return ends[:, 0], ends[:, 1]

    def graphs(self, which: range) -> GraphSet:
        """Some molecules, next to each other, as graphs: every bond both ways, and a self-loop on every atom."""
        nodes, bonds = (pointer[which.start : which.stop + 1] for pointer in self._pointers)
        atoms = slice(int(nodes[0]), int(nodes[-1]))
        between = slice(int(bonds[0]), int(bonds[-1]))
        return as_graphs(
            self.name, self.sizes[which.start : which.stop], self.atoms[atoms], self.bonds[between], self.kinds[between]
        )

    def graph_sets(self, size: int = 100_000) -> Iterator[GraphSet]:
        for first in range(0, len(self), size):
            yield self.graphs(range(first, min(first + size, len(self))))

    pretrain_sets = graph_sets

    def some_graphs(self, most: int) -> tuple[np.ndarray, Iterator[GraphSet]]:
        parts = stretches(len(self), most)
        return np.concatenate([np.asarray(part) for part in parts]), map(self.graphs, parts)

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        return {"atoms": self.sizes[:, 0].astype(np.float64), "bonds": self.sizes[:, 1].astype(np.float64)}

    def drawings(self, rows: Sequence[int]) -> tuple[list[bytes], list[str]]:
        return packed_drawings(from_store(rows, *self._pointers, self.atoms, self.bonds, self.kinds))

    def graph_rows(self, rows: Tensor) -> Tensor:
        """One row for every string: NaN for those that are not a molecule."""
        out = rows.new_full((self.num_lines, rows.size(1)), float("nan"))
        out[torch.from_numpy(self.lines.astype("int64"))] = rows
        return out

    def graph_columns(self) -> dict[str, list[str]]:
        """`id`, where the files have names, `smiles`, and `problem`: which strings are not molecules."""
        if not self.sources:
            return {}
        names, texts = labels(self.sources, self.column)
        problem = ["not a molecule"] * len(texts)
        for line in self.lines.tolist():
            problem[line] = ""
        return {**({"id": names} if any(names) else {}), "smiles": texts, "problem": problem}


def as_graphs(name: str, sizes: np.ndarray, atoms: np.ndarray, bonds: np.ndarray, kinds: np.ndarray) -> GraphSet:
    """Graphs whose edges are grouped by molecule: the bonds, the same the other way, the self-loops."""
    counts = sizes.astype(np.int64)
    node_ptr, bond_ptr = (np.concatenate([[0], np.cumsum(column)]) for column in counts.T)
    edge_ptr = 2 * bond_ptr + node_ptr
    of_bond = np.repeat(np.arange(len(sizes)), counts[:, 1])
    of_atom = np.repeat(np.arange(len(sizes)), counts[:, 0])
    check_codes(counts, of_bond, atoms, bonds, kinds)
    # Where in the list of edges: what came before the molecule, then its own, counted from there.
    ahead = edge_ptr[of_bond] + np.arange(len(bonds)) - bond_ptr[of_bond]
    loops = edge_ptr[of_atom] + 2 * counts[of_atom, 1] + np.arange(len(atoms)) - node_ptr[of_atom]
    edge_index = np.empty((2, int(edge_ptr[-1])), dtype=np.int64)
    edge_index[:, ahead] = bonds.T
    edge_index[:, ahead + counts[of_bond, 1]] = bonds.T[::-1]
    edge_index[:, loops] = np.arange(len(atoms)) - node_ptr[of_atom]
    codes = np.full(int(edge_ptr[-1]), LOOP_CODE, dtype=np.uint8)
    codes[ahead] = codes[ahead + counts[of_bond, 1]] = kinds
    return GraphSet(
        name,
        torch.from_numpy(atoms.astype(np.int64)),
        (ATOMS, CHIRALITIES),
        torch.from_numpy(edge_index),
        torch.from_numpy(node_ptr),
        torch.from_numpy(edge_ptr),
        treatment={"features": "molecule", "self_loops": True},
        edge_sums=torch.from_numpy(bond_sums(bonds + node_ptr[of_bond][:, None], kinds, len(atoms))),
        edge_codes=torch.from_numpy(codes),
        edge_table=bond_table(),
    )


def from_smiles(
    texts: Sequence[str], name: str = "molecules", standardize: bool = False
) -> tuple[GraphSet | None, list[int]]:
    """(the molecules as graphs, None where there are none; which of the strings they are)."""
    silence = silenced()
    made = [(place, found) for place, text in enumerate(texts) if (found := parse(text, standardize)) is not None]
    del silence
    if not made:
        return None, []
    molecules = [molecule for _, molecule in made]
    sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.int64)
    atoms, bonds, kinds = (np.concatenate(part) for part in zip(*molecules, strict=True))
    return as_graphs(name, sizes, atoms, bonds, kinds), [place for place, _ in made]
