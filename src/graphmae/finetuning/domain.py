"""Where a predictor can be trusted: how near a molecule is to those it was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..data.molecules.neighbours import TanimotoIndex

AT_ONCE = 512  # molecules whose similarities stay in the cache
MOST_EMBEDDINGS = 5_000  # molecules to compare embeddings with
MOST_ASKED = 2_000  # molecules whose own nearest neighbours say what is usual
RARE = 0.05  # the share of the training molecules that are as far from their nearest neighbour as "far"


@dataclass(frozen=True)
class Nearness:
    """Of n molecules: the nearest training molecule [n], its Tanimoto similarity [n], the highest cosine of embeddings
    [n], and whether the molecule is like those [n]."""

    nearest: np.ndarray
    tanimoto: np.ndarray
    cosine: np.ndarray
    inside: np.ndarray


@dataclass(frozen=True)
class Domain:
    """The training molecules of a predictor.

    Attributes:
        index: their fingerprints.
        smiles, ids: [M].
        middle, scale: [width] by which embeddings are standardised before their cosine is taken: raw ones all point
            the same way.
        rows: [m, width] float32 standardised embeddings of length 1, of at most 5,000 molecules.
        least_tanimoto, least_cosine: below either a molecule is outside; 5 % of the training molecules are as far from
            their nearest neighbour among the others.
    """

    index: TanimotoIndex
    smiles: tuple[str, ...]
    ids: tuple[str, ...]
    middle: np.ndarray
    scale: np.ndarray
    rows: np.ndarray
    least_tanimoto: float
    least_cosine: float

    @classmethod
    def fit(
        cls, counts: np.ndarray, embedding: np.ndarray, smiles: tuple[str, ...], ids: tuple[str, ...], seed: int = 0
    ) -> Domain:
        """From fingerprints [M, 2048] and embeddings [M, width] of the training molecules."""
        index = TanimotoIndex.of(counts)
        order = np.random.default_rng(seed).permutation(len(smiles))
        middle, scale = embedding.mean(axis=0), embedding.std(axis=0)
        scale = np.where(scale > 1e-6, scale, 1.0).astype(np.float32)
        kept = np.sort(order[:MOST_EMBEDDINGS])
        rows = _directions(embedding[kept], middle, scale)
        asked = np.sort(order[:MOST_ASKED])
        _, tanimoto = index.nearest(counts[asked], asked)
        few = rows[:MOST_ASKED]
        alike = few @ rows.T
        alike[np.arange(len(few)), np.arange(len(few))] = -1
        least = [float(np.quantile(values, RARE)) for values in (tanimoto, alike.max(axis=1))]
        return cls(index, smiles, ids, middle.astype(np.float32), scale, rows, *least)

    def nearness(self, counts: np.ndarray, embedding: np.ndarray) -> Nearness:
        """Of molecules with these fingerprints [n, 2048] and embeddings [n, width]."""
        return self.decide(*self.index.nearest(counts), self.cosines(embedding))

    def cosines(self, embedding: np.ndarray) -> np.ndarray:
        """[n] the highest with any molecule that was trained on."""
        known = torch.from_numpy(self.rows).t()
        parts = torch.from_numpy(self.directions(embedding)).split(AT_ONCE)
        return torch.cat([(part @ known).amax(1) for part in parts]).numpy()

    def directions(self, embedding: np.ndarray) -> np.ndarray:
        """[n, width] float32: embeddings standardised, of length 1."""
        return _directions(embedding, self.middle, self.scale)

    def decide(self, nearest: np.ndarray, tanimoto: np.ndarray, cosine: np.ndarray) -> Nearness:
        """With whether each molecule is like those that were trained on."""
        inside = (tanimoto >= self.least_tanimoto) & (cosine >= self.least_cosine)
        return Nearness(nearest, tanimoto, cosine, inside)


def _directions(embedding: np.ndarray, middle: np.ndarray, scale: np.ndarray) -> np.ndarray:
    rows = (embedding - middle) / scale
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)).astype(np.float32)
