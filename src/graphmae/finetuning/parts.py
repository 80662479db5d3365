"""An assay as an automatic predictor is fitted to it: features of all molecules, parts, folds of the training part."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ..config import Finetune
from ..data.molecules import Assay
from ..data.molecules.descriptors import STORED
from ..data.molecules.featurized import Featurized, featurize
from ..inference.molecules import embed_molecules
from .folds import grouped_folds, random_folds
from .members import Blocks

logger = logging.getLogger("graphmae")
LARGEST_GROUP = 0.5  # of the training molecules: one scaffold with more leaves too little to train on beside it


@dataclass(frozen=True)
class Parts:
    """Positions to train on and to test on, features of all molecules, [n] folds of the training rows."""

    train: np.ndarray
    test: np.ndarray
    blocks: Blocks
    y: np.ndarray
    folds: np.ndarray
    grouped: bool

    def rows(self, positions: np.ndarray) -> Blocks:
        """The features of some molecules."""
        return {name: block[positions] for name, block in self.blocks.items()}


def parts_of(encoder: nn.Module, assay: Assay, settings: Finetune, seed: int, device: torch.device) -> Parts:
    train = np.sort(np.concatenate([assay.split["train"], assay.split["val"]]))
    counts, descriptors = features_of(assay)
    (embedding,) = embed_molecules([encoder], assay.graphs(), settings.readout, device)
    blocks = {"embedding": embedding.numpy(), "ecfp": counts, "descriptors": descriptors}
    folds, grouped = folds_of(assay, train, settings, seed)
    y = np.asarray(assay.targets, dtype=np.float64)
    return Parts(train, assay.split["test"], blocks, y, folds, grouped)


def folds_of(assay: Assay, train: np.ndarray, settings: Finetune, seed: int) -> tuple[np.ndarray, bool]:
    """([n] the fold of each of the molecules `train`, whether scaffolds stay together)."""
    groups = assay.groups[train]
    sizes = np.unique(groups, return_counts=True)[1]
    fits = len(sizes) >= settings.folds and bool(sizes.max() <= LARGEST_GROUP * len(train))
    if assay.division != "random" and fits:
        balanced = np.asarray(assay.targets, dtype=np.float64)[train] if assay.kind == "classification" else None
        return grouped_folds(groups, settings.folds, seed, balanced), True
    if assay.division != "random":
        logger.warning(
            "%s: %d of %d training molecules share one scaffold or have none, so folds are made by chance",
            assay.name, sizes.max(), len(train),
        )  # fmt: skip
    return random_folds(len(train), settings.folds, seed), False


def features_of(assay: Assay) -> tuple[np.ndarray, np.ndarray]:
    """(counts of ECFP4 [M, 2048], descriptors [M, 108]) of an assay's molecules, kept beside them."""
    made: list[Featurized] = []

    def once() -> Featurized:
        if not made:
            made.append(featurize(assay.smiles))
        return made[0]

    counts = assay.store.derived("ecfp-counts", lambda: once().counts)
    descriptors = assay.store.derived(STORED, lambda: once().descriptors)
    return counts, descriptors
