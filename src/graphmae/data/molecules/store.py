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

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...runtime.environment import cpu_count
from ...runtime.errors import DataError, InputError
from ...runtime.files import replacing, write_json
from ...runtime.untrusted import read_object
from ..dataset import Dataset
from ..graphset import GraphSet
from .bonds import LOOP_CODE, bond_sums, bond_table
from .drawing import from_store, packed_drawings
from .integrity import DamagedStore, check_arrays, check_codes
from .lines import Line, read_lines, stretches
from .smiles import ATOMS, CHIRALITIES, parse, rdkit, silenced

FORMAT = 1
PART = 20_000  # lines a worker takes at a time
FEW = 5_000
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


def from_smiles(texts: Sequence[str], name: str = "molecules") -> tuple[GraphSet | None, list[int]]:
    """(the molecules as graphs, None where there are none; which of the strings they are)."""
    silence = silenced()
    made = [(place, found) for place, text in enumerate(texts) if (found := parse(text)) is not None]
    del silence
    if not made:
        return None, []
    molecules = [molecule for _, molecule in made]
    sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.int64)
    atoms, bonds, kinds = (np.concatenate(part) for part in zip(*molecules, strict=True))
    return as_graphs(name, sizes, atoms, bonds, kinds), [place for place, _ in made]


def build_store(
    files: Sequence[str | Path],
    folder: str | Path,
    column: str | None = None,
    name: str | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MoleculeStore:
    """Parse every SMILES string in `files` into a store; an interrupted build goes on where it was.

    `progress` is called with the number of lines done and of bad ones among them.
    """
    folder, paths = Path(folder), [Path(file) for file in files]
    made_of = {
        "format": FORMAT,
        "name": name or paths[0].name.split(".")[0],
        "files": [_identity(file) for file in paths],
        "column": column,
    }
    if not (folder / "meta.json").is_file():
        rdkit()
    _claim(folder, made_of)
    if (folder / "meta.json").is_file():
        return MoleculeStore.open(folder)
    parts = folder / "parts"
    done = bad = 0
    for lines, wrong in _in_order(_chunks(read_lines(paths, column)), parts, jobs or cpu_count()):
        done, bad = done + lines, bad + wrong
        if progress is not None:
            progress(done, bad)
    if done == bad:
        shutil.rmtree(folder)
        read = "nothing" if not done else f"{done} lines and not one molecule"
        raise DataError(f"{', '.join(map(str, paths))}: {read} to read; a line must begin with a SMILES string")
    _join(folder, sorted(parts.glob("*.npz")))
    _write_bad(folder, parts)
    meta = {**made_of, "molecules": done - bad, "bad": bad, "rdkit": rdkit().rdBase.rdkitVersion}
    write_json(folder / "meta.json", meta)
    shutil.rmtree(parts)
    return MoleculeStore.open(folder)


def _identity(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    return {"name": file.name, "bytes": file.stat().st_size}


def _claim(folder: Path, made_of: dict[str, Any]) -> None:
    """Make the folder, or refuse one that holds something else."""
    note = folder / "parts" / "made_of.json"
    for known in (folder / "meta.json", note):
        if known.is_file():
            before = read_object(known)
            if {key: before.get(key) for key in made_of} != made_of:
                raise InputError(f"{folder} holds molecules of other files; choose another folder")
            return
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} exists and is no store of molecules; choose another folder")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(made_of))


def _chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while chunk := list(islice(lines, PART)):
        yield chunk


def _in_order(chunks: Iterator[list[Line]], parts: Path, jobs: int) -> Iterator[tuple[int, int]]:
    """(lines, bad lines) of every part, a few of them under way at a time; a few molecules need no other process."""
    first = next(chunks, [])
    if len(first) <= FEW:
        silence = silenced()
        yield _parse_part(first, 0, parts / "000000.npz")
        del silence
        return
    waiting: deque[Future[tuple[int, int]]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _quiet) as pool:
        for number, chunk in enumerate(chain([first], chunks)):
            waiting.append(pool.submit(_parse_part, chunk, number * PART, parts / f"{number:06d}.npz"))
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _quiet() -> None:
    global _silence
    _silence = silenced()


_silence: Any = None


def _parse_part(chunk: list[Line], first: int, path: Path) -> tuple[int, int]:
    """Parse a chunk into `path`; one that is there already is counted only."""
    if path.is_file():
        with np.load(path) as found:
            return len(chunk), len(chunk) - len(found["sizes"])
    molecules, places, bad = [], [], []
    for place, line in enumerate(chunk):
        made = parse(line.text)
        if made is None or len(made.atoms) > 65_535:
            bad.append(line)
        else:
            molecules.append(made)
            places.append(first + place)
    sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.uint16).reshape(-1, 2)
    arrays: dict[str, np.ndarray] = {
        "sizes": sizes,
        "lines": np.array(places, dtype=np.uint32),
        "atoms": np.concatenate([np.zeros((0, 2), np.uint8), *(m.atoms for m in molecules)]),
        "bonds": np.concatenate([np.zeros((0, 2), np.uint16), *(m.bonds for m in molecules)]),
        "kinds": np.concatenate([np.zeros(0, np.uint8), *(m.kinds for m in molecules)]),
    }
    if not len(sizes) or sizes[:, 0].max() < 256:
        arrays["bonds"] = arrays["bonds"].astype(np.uint8)
    path.with_suffix(".tsv").write_text("".join(f"{line.file}\t{line.number}\t{line.text}\n" for line in bad), "utf-8")
    with replacing(path) as partial:
        np.savez(partial, **arrays)  # type: ignore[arg-type]
    return len(chunk), len(bad)


def _join(folder: Path, parts: Sequence[Path]) -> None:
    """One array of each kind, written part by part."""
    for name in ARRAYS:
        shapes, types = [], []
        for part in parts:
            with np.load(part, mmap_mode="r") as found:
                shapes.append(found[name].shape)
                types.append(found[name].dtype)
        shape = (sum(shape[0] for shape in shapes), *shapes[0][1:])
        out = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.result_type(*types), shape)
        at = 0
        for part in parts:
            with np.load(part) as found:
                rows = found[name]
            out[at : at + len(rows)] = rows
            at += len(rows)
        out.flush()


def _write_bad(folder: Path, parts: Path) -> None:
    with (folder / "bad.tsv").open("w", encoding="utf-8") as out:
        out.write("file\tline\ttext\n")
        for part in sorted(parts.glob("*.tsv")):
            out.write(part.read_text("utf-8"))
