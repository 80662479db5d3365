"""Molecules most like one molecule, by embeddings and by fingerprints."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from ..data.molecules.featurized import Featurized, featurize
from ..data.molecules.library import library_rows
from ..data.molecules.neighbours import TanimotoIndex
from ..inference.molecules import embed_molecules
from ..methods import Method
from ..runtime.device import resolve_device
from ..runtime.errors import InputError

AT_ONCE = 8192
SAMPLED = 2_000  # molecules whose pairs say what cosines are usual


def similar_molecules(
    model: Method, data: Any, query: str, k: int, device: str | None = None
) -> list[tuple[str, str, float, float, float]]:
    """The `k` molecules of `data` most like `query`: (SMILES, name, cosine, percentile, Tanimoto), by the cosine.

    The percentile says how many of 100 random pairs of the molecules have a lower cosine: raw cosines of embeddings
    are all high, and say little. `query` itself is left out.
    """
    used = resolve_device(device or "auto")

    def rows_of(molecules: Featurized) -> Tensor:
        assert molecules.graphs is not None
        return F.normalize(embed_molecules([model.encoder], molecules.graphs, "mean", used)[0], dim=1)

    own = featurize([query], with_descriptors=False)
    if not len(own):
        raise InputError(f"{query[:80]!r} is not a molecule; --node takes a SMILES string")
    wanted, index = rows_of(own)[0], TanimotoIndex.of(own.counts)
    best: list[tuple[float, int, str, str, float]] = []
    sample: list[np.ndarray] = []
    seen = 0
    for texts, names in _parts(data):
        found = featurize(texts, with_descriptors=False)
        if not len(found):
            continue
        z = rows_of(found)
        cosines, tanimoto = (z @ wanted).tolist(), index.nearest(found.counts)[1].tolist()
        for row, (cosine, alike) in enumerate(zip(cosines, tanimoto, strict=True)):
            if found.smiles[row] != query:
                entry = (cosine, -seen - row, found.smiles[row], names[int(found.rows[row])], alike)
                (heapq.heappush if len(best) < k else heapq.heappushpop)(best, entry)
        if sum(len(rows) for rows in sample) < SAMPLED:
            sample.append(z[:SAMPLED].numpy())
        seen += len(found)
    if not best:
        raise InputError("there is no other molecule to compare with")
    drawn = np.concatenate(sample)
    pairs = np.random.default_rng(0).integers(len(drawn), size=(2, 20_000))
    pairs = pairs[:, pairs[0] != pairs[1]]
    usual = np.sort((drawn[pairs[0]] * drawn[pairs[1]]).sum(axis=1))
    percent = [100 * float(np.searchsorted(usual, cosine)) / max(len(usual), 1) for cosine, *_ in best]
    ranked = sorted(zip(best, percent, strict=True), key=lambda pair: (-pair[0][0], -pair[0][1]))
    return [(smiles, name, cosine, share, alike) for (cosine, _, smiles, name, alike), share in ranked]


def _parts(data: Any) -> Iterator[tuple[list[str], list[str]]]:
    """(SMILES, names) of some thousand molecules at a time."""
    if isinstance(data, str | Path):
        data = [data]
    if len(data) == 1 and Path(str(data[0])).is_file():
        header, rows = library_rows(Path(data[0]))
        at = next((i for i, name in enumerate(header) if name.strip().lower() in ("name", "id")), None)
        pairs: Iterable[tuple[str, str]] = ((text, "" if at is None else cells[at]) for cells, text in rows)
    else:
        pairs = ((str(text), "") for text in _strings(data))
    source = iter(pairs)
    while some := list(islice(source, AT_ONCE)):
        yield [text for text, _ in some], [name for _, name in some]


def _strings(data: Sequence[Any]) -> Sequence[Any]:
    if all(isinstance(text, str) for text in data) and len(data) > 1:
        return data
    raise InputError(
        f"{data[0] if data else 'nothing'} is not a file of molecules; give a .smi, a table, or a list of SMILES"
    )
