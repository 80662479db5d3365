"""Atoms that see the same surroundings: what a layer computes is the same for them, so it is computed once.

After l layers the row of an atom depends on its surroundings up to l bonds away and on nothing else. In a library most
surroundings of one, two or three bonds are there many times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..graphset import GraphSet

_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


@dataclass(frozen=True)
class Layer:
    """What one layer has to compute, R different surroundings.

    Attributes:
        begins: [R] where the senders of each row begin in `senders`.
        senders: the rows of the layer before that are added up, each atom itself among them.
        edge_sums: [R, k] the features of the edges into each row, added up.
    """

    begins: Tensor
    senders: Tensor
    edge_sums: Tensor


@dataclass(frozen=True)
class Environments:
    """Molecules by the different surroundings of their atoms.

    Attributes:
        codes: [R, columns] the different kinds of atoms, which the first layer reads.
        layers: one for each layer of the encoder; the last one has a row for every atom, equal or not.
        begins: [molecules] where the atoms of each molecule begin.
    """

    codes: Tensor
    layers: tuple[Layer, ...]
    begins: Tensor


def environments(graphs: GraphSet, num_layers: int) -> Environments:
    """Group the atoms of molecules by their surroundings, for an encoder of so many layers.

    Groups are told apart by hashes of 64 bits; that two of a million are the same by chance has a probability of 3e-8.

    >>> from graphmae.data.molecules import from_smiles
    >>> graphs, _ = from_smiles(["CCO", "CCN"])  # doctest: +SKIP
    >>> [len(layer.begins) for layer in environments(graphs, 2).layers]  # doctest: +SKIP
    [4, 6]
    """
    assert graphs.num_codes is not None and graphs.edge_sums is not None
    first = graphs.node_ptr[:-1].repeat_interleave(graphs.edge_ptr.diff())
    sender, receiver = (graphs.edge_index + first).numpy()
    order = np.argsort(receiver, kind="stable")
    sender = sender[order]
    degree = np.bincount(receiver, minlength=len(graphs.x))
    begins = np.cumsum(degree) - degree
    codes, sums = graphs.x.numpy().reshape(len(graphs.x), -1), graphs.edge_sums.numpy()
    bonds = _hash_rows(sums)
    _, chosen, member = np.unique(_hash_rows(codes), return_index=True, return_inverse=True)
    kinds, layers = torch.from_numpy(codes[chosen]), []
    for _ in range(num_layers - 1):
        labels = mixed(member.astype(np.uint64))
        around = np.add.reduceat(labels[sender], begins)  # the sum does not depend on the order of the neighbours
        _, chosen, following = np.unique(mixed(around ^ bonds), return_index=True, return_inverse=True)
        sizes = degree[chosen]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(begins[chosen] - starts, sizes) + np.arange(int(sizes.sum()))
        layers.append(
            Layer(torch.from_numpy(starts), torch.from_numpy(member[sender[places]]), torch.from_numpy(sums[chosen]))
        )
        member = following
    # Five bonds away hardly any two atoms see the same.
    layers.append(Layer(torch.from_numpy(begins), torch.from_numpy(member[sender]), graphs.edge_sums))
    return Environments(kinds, tuple(layers), graphs.node_ptr[:-1])


def mixed(values: np.ndarray) -> np.ndarray:
    """A hash of whole numbers in which every bit of the input moves every bit of the output (splitmix64)."""
    values = (values + np.uint64(1)) * _ODD[0]
    values = (values ^ (values >> np.uint64(30))) * _ODD[1]
    values = (values ^ (values >> np.uint64(27))) * _ODD[2]
    return values ^ (values >> np.uint64(31))


def _hash_rows(rows: np.ndarray) -> np.ndarray:
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found = mixed(found ^ column.astype(np.uint64))
    return found
