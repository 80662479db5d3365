"""Features of bonds: a row for every kind of bond, and their sums at every atom."""

from __future__ import annotations

import numpy as np
import torch

from .smiles import BOND_TYPES, DIRECTIONS, MASKED, SELF_LOOP

LOOP_CODE = 12  # after the kinds of bonds; one more is a masked bond
EDGE_CHANNELS = 12  # types and directions, filled up to a multiple of four


def bond_table() -> torch.Tensor:
    """[14, 12] the features of every kind of bond, of a self-loop and of a masked bond."""
    kinds = torch.arange(LOOP_CODE)
    types = torch.cat([kinds % 4, torch.tensor([SELF_LOOP, MASKED])])
    ways = torch.cat([kinds // 4, torch.tensor([0, 0])])
    return torch.eye(EDGE_CHANNELS)[types] + torch.eye(EDGE_CHANNELS)[BOND_TYPES + ways]


def bond_sums(ends: np.ndarray, kinds: np.ndarray, num_atoms: int) -> np.ndarray:
    """[N, 12] uint8: how many bonds of every type, and of every direction, each atom has, its self-loop included."""
    kind, way = kinds % 4, kinds // 4
    places = [ends * EDGE_CHANNELS + kind[:, None], ends * EDGE_CHANNELS + BOND_TYPES + way[:, None]]
    flat = np.concatenate([place.ravel() for place in places])
    sums = np.bincount(flat, minlength=num_atoms * EDGE_CHANNELS).reshape(num_atoms, EDGE_CHANNELS)
    sums[:, SELF_LOOP] += 1
    sums[:, BOND_TYPES] += 1
    assert BOND_TYPES + DIRECTIONS <= EDGE_CHANNELS
    return np.minimum(sums, 255).astype(np.uint8)
