"""Which molecules are trained on, chosen by and tested on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...runtime.errors import DataError, InputError
from .smiles import rdkit, silenced

Split = Mapping[str, np.ndarray]  # train, val, test → positions
SHARES = (0.8, 0.1, 0.1)
PARTS = {
    **dict.fromkeys(("train", "training", "trn", "tr", "trainset", "trainingset"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "tune", "validationset", "calibration"), "val"),
    **dict.fromkeys(("test", "testing", "tst", "te", "testset", "holdout", "heldout", "external"), "test"),
}


def scaffold_split(
    groups: Sequence[int] | np.ndarray, shares: tuple[float, float, float] = SHARES, what: str = "scaffold"
) -> Split:
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
        share = f"{len(ordered[0])} of {len(groups)} molecules share one {what} or have none"
        raise DataError(f"a split by {what} leaves a part empty: {share}; take --split random or a column")
    return _checked({"train": train, "val": val, "test": test})


def balanced_split(
    groups: Sequence[int] | np.ndarray, seed: int, shares: tuple[float, float, float] = SHARES, what: str = "scaffold"
) -> Split:
    """Groups stay together and go to the parts in an order drawn by `seed`, so that splits can be repeated.

    Those larger than half of the validation part are trained on, so that no part is one group alone.
    """
    numbers = np.asarray(groups)
    unique, sizes = np.unique(numbers, return_counts=True)
    count, order = len(numbers), np.random.default_rng(seed).permutation(len(unique))
    limit = shares[1] * count / 2
    order = np.concatenate([order[sizes[order] > limit], order[sizes[order] <= limit]])
    room = {"train": shares[0] * count, "val": shares[1] * count, "test": shares[2] * count}
    taken, parts = dict.fromkeys(room, 0), np.full(len(unique), "test", dtype=object)
    for group in order:
        # The first part with room; where none has, the one that is furthest from full.
        fits = [part for part in room if taken[part] + sizes[group] <= room[part] + 0.5]
        part = fits[0] if fits else max(room, key=lambda name: (room[name] - taken[name]) / room[name])
        parts[group] = part
        taken[part] += int(sizes[group])
    for part in room:
        # Few groups of much the same size may all have gone elsewhere: the smallest that is trained on comes here.
        trained = np.flatnonzero(parts == "train")
        if not taken[part] and len(trained) > 1 and sizes.max() <= room["train"]:
            parts[trained[sizes[trained].argmin()]] = part
            taken[part] = int(sizes[trained].min())
    of_molecule = parts[np.searchsorted(unique, numbers)]
    if any(not taken[part] for part in room):
        share = f"{sizes.max()} of {count} molecules share one {what} or have none"
        raise DataError(f"a split by {what} leaves a part empty: {share}; take --split random or a column")
    return _checked({part: np.flatnonzero(of_molecule == part) for part in room})


def time_split(moments: Sequence[float] | np.ndarray, shares: tuple[float, float, float] = SHARES) -> Split:
    """The oldest are trained on, the newest tested; molecules of one moment stay together.

    >>> {part: found.tolist() for part, found in time_split([2019, 2021, 2020, 2018], (0.5, 0.25, 0.25)).items()}
    {'train': [3, 0], 'val': [2], 'test': [1]}
    """
    values = np.asarray(moments, dtype=np.float64)
    unique, counts = np.unique(values, return_counts=True)
    if len(unique) < 3:
        raise DataError(f"a split by time needs three different times, and there are {len(unique)}")
    until = np.cumsum(counts) / len(values)
    first = int(np.abs(until[:-2] - shares[0]).argmin())
    second = first + 1 + int(np.abs(until[first + 1 : -1] - shares[0] - shares[1]).argmin())
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts)[[first, second]]
    train, val, test = np.split(order, ends)
    return _checked({"train": train, "val": val, "test": test})


def random_split(count: int, seed: int, shares: tuple[float, float, float] = SHARES) -> Split:
    """By chance, the same for the same seed."""
    order = np.random.default_rng(seed).permutation(count)
    first, second = round(shares[0] * count), round((shares[0] + shares[1]) * count)
    return _checked({"train": order[:first], "val": order[first:second], "test": order[second:]})


def given_split(column: Sequence[str]) -> Split:
    """As a column of the table says: train, val (or valid, validation, dev) and test (or holdout)."""
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    for position, text in enumerate(column):
        name = part_of(text)
        if not name:
            ways = "for dates or numbers take time:COLUMN, for series group:COLUMN"
            raise InputError(f"a split must be train, val or test, not {text!r} (molecule {position + 1}); {ways}")
        parts[name].append(position)
    return _checked(parts)


def part_of(text: str) -> str:
    """ "train", "val" or "test", as people write them; "" for another word."""
    return PARTS.get(re.sub(r"[\s_\-]+", "", text.lower()), "")


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
