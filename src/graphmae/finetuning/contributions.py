"""Which atoms a prediction comes from: the prediction less what it is with an atom masked."""

from __future__ import annotations

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
from ..data.molecules.featurized import Featurized, counts_without_atoms
from ..data.molecules.smiles import from_rdkit, rdkit
from .automatic import AutomaticPredictor
from .committee import Committee
from .predictor import Predictor

MOST_ATOMS = 200  # of a molecule: a masked copy is made for each


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

    Each atom in turn is masked: in the encoders its embedding becomes the token of pre-training, from fingerprints the
    groups that hold it are taken out; descriptors, which are of the molecule as a whole, stay as they are.
    """
    molecules = committee.featurize(texts)
    out: list[Contributions | None] = [None] * len(texts)
    if molecules.graphs is None:
        return out
    answers = committee.answer(molecules)
    chem = rdkit()
    for place, row in enumerate(molecules.rows.tolist()):
        made = chem.MolFromSmiles(molecules.smiles[place])
        if made.GetNumAtoms() <= MOST_ATOMS:
            atoms = np.mean([_of_model(model, molecules, place, made) for model in committee.models], axis=0)
            inside = answers.near is None or bool(answers.near.inside[place])
            out[row] = Contributions(molecules.smiles[place], atoms, answers.values[place], inside)
    return out


@torch.no_grad()
def _of_model(model: Predictor | AutomaticPredictor, molecules: Featurized, place: int, made: Any) -> np.ndarray:
    """[atoms, T]."""
    graphs = _copies(made, molecules.smiles[place])
    if isinstance(model, Predictor):
        out = model.eval().head(_embedded(model.encoder, graphs, model.readout, None))
        values = (out if model.kind == "classification" else model.answer(out)).double().numpy()
    else:
        embedded = [_embedded(one.eval(), graphs, model.readout, model.token) for one in model.encoders]
        whole = molecules.counts[place : place + 1]
        counts = np.concatenate([whole, counts_without_atoms(made)])
        descriptors = np.repeat(molecules.descriptors[place : place + 1], len(counts), axis=0)
        values = model.merged(model.guesses(embedded, counts, descriptors))
    return values[0] - values[1:]


def _copies(made: Any, text: str) -> GraphSet:
    """The molecule once as it is, and once for every atom."""
    one = from_rdkit(made, text)
    count = len(one.atoms) + 1
    sizes = np.full((count, 2), (len(one.atoms), len(one.bonds)), dtype=np.int64)
    return as_graphs("atoms", sizes, *(np.concatenate([part] * count) for part in one))


def _embedded(encoder: nn.Module, graphs: GraphSet, readout: str, token: Tensor | None) -> Tensor:
    """[1 + atoms, width]: copy 1 + a has atom a masked."""
    batch = GraphStore(graphs).take(torch.arange(len(graphs)))
    size = len(graphs) - 1
    masked = torch.arange(size) * (size + 1) + size  # the first copy is whole, copy 1 + a begins at (1 + a) · size
    nodes = _masked(encoder, batch, masked, token)
    return torch.cat([kernels.pool(nodes, batch.pointer, way) for way in readout.split("+")], dim=1)


def _masked(encoder: nn.Module, batch: Batch, rows: Tensor, token: Tensor | None) -> Tensor:
    edges = batch.edges(encoder)
    if token is not None and getattr(encoder, "mask_embedding", False):
        value: Tensor = token
        return encoder(batch.x, edges, mask=lambda embedded: embedded.index_put((rows,), value.to(embedded.dtype)))
    return encoder(batch.x.index_fill(0, rows, 0.0), edges)
