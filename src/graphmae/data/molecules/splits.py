"""Which molecules are trained on, chosen by and tested on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...runtime.errors import DataError, InputError
from .smiles import rdkit, silenced

Split = Mapping[str, np.ndarray]  # train, val, test → positions
SHARES = (0.8, 0.1, 0.1)


def scaffold_split(groups: Sequence[int] | np.ndarray, shares: tuple[float, float, float] = SHARES) -> Split:
    """Deterministic: molecules of one group, a Bemis–Murcko scaffold, stay together, the largest go first.

    A group goes to the training part while that has room, then to validation, else to test; as published.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for position, group in enumerate(groups):
        members[int(group)].append(position)
    ordered = sorted(members.values(), key=lambda group: (len(group), group[0]), reverse=True)
    first, second = shares[0] * len(groups), (shares[0] + shares[1]) * len(groups)
    train: list[int] = []
    val: list[int] = []
    test: list[int] = []
    for group in ordered:
        if len(train) + len(group) <= first:
            train += group
        elif len(train) + len(val) + len(group) <= second:
            val += group
        else:
            test += group
    if not (train and val and test):
        share = f"{len(ordered[0])} of {len(groups)} molecules share one scaffold or have none"
        raise DataError(f"a split by scaffold leaves a part empty: {share}; take --split random or a column")
    return _checked({"train": train, "val": val, "test": test})


def random_split(count: int, seed: int, shares: tuple[float, float, float] = SHARES) -> Split:
    """By chance, the same for the same seed."""
    order = np.random.default_rng(seed).permutation(count)
    first, second = round(shares[0] * count), round((shares[0] + shares[1]) * count)
    return _checked({"train": order[:first], "val": order[first:second], "test": order[second:]})


def given_split(column: Sequence[str]) -> Split:
    """As a column of the table says: train, val (or valid, validation) and test."""
    names = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    for position, text in enumerate(column):
        name = names.get(text.strip().lower())
        if name is None:
            raise InputError(f"a split must be train, val or test, not {text!r} (row {position + 1})")
        parts[name].append(position)
    return _checked(parts)


def scaffold_groups(smiles: Iterable[str]) -> np.ndarray:
    """[n] int32: a number for every molecule's scaffold (with chirality), 0 for the first one seen, and so on."""
    rdkit()
    silence = silenced()
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(scaffold_of(text), len(numbers)) for text in smiles]
    del silence
    return np.array(found, dtype=np.int32)


def scaffold_of(text: str) -> str:
    """The Bemis–Murcko scaffold as SMILES; empty for a molecule without rings."""
    from rdkit.Chem.Scaffolds import MurckoScaffold

    return str(MurckoScaffold.MurckoScaffoldSmiles(smiles=text, includeChirality=True))


def _checked(parts: Mapping[str, Sequence[int] | np.ndarray]) -> Split:
    if empty := [name for name, positions in parts.items() if not len(positions)]:
        raise DataError(f"the {empty[0]} part of the split has no molecule; take another split or more molecules")
    return {name: np.array(positions, dtype=np.int64) for name, positions in parts.items()}
