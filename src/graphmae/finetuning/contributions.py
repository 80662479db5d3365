"""Which atoms a prediction comes from: what it loses where an atom is masked."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import kernels
from ..batching import Batch, GraphStore
from ..data import GraphSet
from ..data.molecules import as_graphs
from ..data.molecules.featurized import Featurized, counts_without
from ..data.molecules.smiles import from_rdkit, rdkit
from ..runtime.resting import resting_copy
from .automatic import AutomaticPredictor
from .committee import Committee
from .predictor import Predictor

MOST_ATOMS = 200  # of a molecule: three masked copies are made for each
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Contributions:
    """Of one molecule: its atoms' contributions [atoms, T] in logits of class 1, or in the targets' units, the
    prediction [T]: a probability, or a number, and whether the molecule is in the domain."""

    smiles: str
    atoms: np.ndarray
    prediction: np.ndarray
    inside: bool = True


def contributions(committee: Committee, texts: Sequence[str]) -> list[Contributions | None]:
    """For every string; None where it is not a molecule or has more than 200 atoms.

    What the prediction loses where an atom is masked, once in the whole molecule and once among the atom's neighbours
    alone, all others being masked too; the contribution is the mean. (In the whole molecule an atom beside a group that
    matters takes away as much as one of the group: no fingerprint with the group and what is beside it is left.)

    In the encoders the embedding of a masked atom becomes the token of pre-training, and it is not read out; from
    fingerprints the groups that hold it are taken out; descriptors, which are of the molecule as a whole, stay.
    """
    molecules = committee.featurize(texts)
    out: list[Contributions | None] = [None] * len(texts)
    if molecules.graphs is None:
        return out
    answers = committee.answer(molecules)
    chem = rdkit()
    shown = time.monotonic()
    for place, row in enumerate(molecules.rows.tolist()):
        if time.monotonic() - shown >= 5:
            shown = time.monotonic()
            logger.info("explain: %d of %d molecules", place, len(molecules.rows))
        made = chem.MolFromSmiles(molecules.smiles[place])
        if made.GetNumAtoms() <= MOST_ATOMS:
            atoms = np.mean([_of_model(model, molecules, place, made) for model in committee.models], axis=0)
            inside = answers.near is None or bool(answers.near.inside[place])
            out[row] = Contributions(molecules.smiles[place], atoms, answers.values[place], inside)
    return out


@torch.no_grad()
def _of_model(model: Predictor | AutomaticPredictor, molecules: Featurized, place: int, made: Any) -> np.ndarray:
    """[atoms, T]."""
    masked = _masked_atoms(made)
    graphs = _copies(made, molecules.smiles[place], len(masked))
    if isinstance(model, Predictor):
        out = model.head(_embedded(model.encoder, graphs, masked, model.readout, None))
        values = (out if model.kind == "classification" else model.answer(out)).double().numpy()
    else:
        embedded = [_embedded(one, graphs, masked, model.readout, model.token) for one in model.encoders]
        descriptors = np.repeat(molecules.descriptors[place : place + 1], len(masked), axis=0)
        values = model.merged(model.guesses(embedded, counts_without(made, masked), descriptors))
    whole, without, around, without_around = np.split(values, np.cumsum([1, *[made.GetNumAtoms()] * 2]))
    return (whole - without + around - without_around) / 2


def _masked_atoms(made: Any) -> np.ndarray:
    """[1 + 3 · atoms, atoms] which atoms are masked: none; each in turn; all but each and its neighbours; all but the
    neighbours of each."""
    from rdkit.Chem import GetAdjacencyMatrix

    own = np.eye(made.GetNumAtoms(), dtype=bool)
    neighbours = GetAdjacencyMatrix(made).astype(bool)
    return np.concatenate([np.zeros_like(own[:1]), own, ~(own | neighbours), ~neighbours])


def _copies(made: Any, text: str, count: int) -> GraphSet:
    """The molecule so many times."""
    one = from_rdkit(made, text)
    sizes = np.full((count, 2), (len(one.atoms), len(one.bonds)), dtype=np.int64)
    return as_graphs("atoms", sizes, *(np.concatenate([part] * count) for part in one))


def _embedded(
    encoder: nn.Module, graphs: GraphSet, masked: np.ndarray, readout: str, token: Tensor | None
) -> Tensor:  # fmt: skip
    """[copies, width], with the atoms `masked` [copies, atoms] in the encoder.

    They are not read out: their neighbours tell the encoder what they were, which is what pre-training is about.
    """
    batch, left = GraphStore(graphs).take(torch.arange(len(graphs))), torch.from_numpy(~masked)
    nodes = _encoded(resting_copy(encoder), batch, (~left).flatten().nonzero().squeeze(1), token)
    pointer = torch.cat([torch.zeros(1, dtype=torch.long), left.sum(1).cumsum(0)])
    return torch.cat([kernels.pool(nodes[left.flatten()], pointer, way) for way in readout.split("+")], dim=1)


def _encoded(encoder: nn.Module, batch: Batch, rows: Tensor, token: Tensor | None) -> Tensor:
    edges = batch.edges(encoder)
    if token is not None and getattr(encoder, "mask_embedding", False):
        value: Tensor = token
        return encoder(batch.x, edges, mask=lambda embedded: embedded.index_put((rows,), value.to(embedded.dtype)))
    return kernels.encode(encoder, batch.x.index_fill(0, rows, 0.0), edges)
