"""Is a store of molecules what was written? Lengths when it is opened, codes when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.errors import DataError
from .bonds import LOOP_CODE
from .smiles import ATOMS, CHIRALITIES


class DamagedStore(DataError):
    """A store whose files are not what was written."""


def check_arrays(
    meta: dict[str, Any], sizes: np.ndarray, atoms: np.ndarray, bonds: np.ndarray, kinds: np.ndarray, lines: np.ndarray
) -> None:
    """Lengths and types that belong together; the codes themselves are checked where they are read."""
    if not isinstance(meta.get("name"), str) or not all(type(meta.get(key)) is int for key in ("molecules", "bad")):
        raise ValueError("meta.json does not say what it holds")
    if any(array.dtype.kind != "u" for array in (sizes, atoms, bonds, kinds, lines)):
        raise ValueError("an array is of another type")
    if not sizes.shape[1:] == atoms.shape[1:] == bonds.shape[1:] == (2,) or kinds.ndim != 1 or lines.ndim != 1:
        raise ValueError("an array is of another shape")
    total = sizes.sum(axis=0, dtype=np.int64).tolist() if len(sizes) else [0, 0]
    if total != [len(atoms), len(bonds)] or len(kinds) != len(bonds):
        raise ValueError("its arrays do not belong together")
    if not len(sizes) == len(lines) == meta["molecules"] or (sizes[:, 0] == 0).any():
        raise ValueError("its arrays do not belong together")
    if len(lines) and (int(lines[-1]) >= meta["molecules"] + meta["bad"] or (lines[1:] <= lines[:-1]).any()):
        raise ValueError("its lines are not in order")


def check_codes(counts: np.ndarray, of_bond: np.ndarray, atoms: np.ndarray, bonds: np.ndarray, kinds: Any) -> None:
    """A bond must join atoms of its own molecule: a wrong one would point anywhere in memory."""
    inside = not len(bonds) or (
        (bonds < counts[of_bond, :1]).all() and int(kinds.max()) < LOOP_CODE and (bonds >= 0).all()
    )
    if not inside or (len(atoms) and (atoms.max(axis=0) >= (ATOMS, CHIRALITIES)).any()):
        raise DamagedStore("molecules with bonds or atoms that cannot be: their store is damaged; delete its folder")
