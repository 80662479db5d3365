"""Numbers that RDKit computes from a structure and chemists know: weight, logP, polar surface, counts of groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .smiles import rdkit

# Those of RDKit's properties that take microseconds; the others (chi, kappa) take most of a millisecond together.
PROPERTIES = (
    "exactmw", "lipinskiHBA", "lipinskiHBD", "NumHBD", "NumHBA", "NumHeavyAtoms", "NumAtoms", "NumHeteroatoms",
    "NumAmideBonds", "FractionCSP3", "NumRings", "NumAromaticRings", "NumAliphaticRings", "NumSaturatedRings",
    "NumHeterocycles", "NumAromaticHeterocycles", "NumSaturatedHeterocycles", "NumAliphaticHeterocycles",
    "NumSpiroAtoms", "NumBridgeheadAtoms", "NumAtomStereoCenters", "labuteASA", "tpsa", "CrippenClogP", "CrippenMR",
    "chi0v", "chi1v", "chi0n", "chi1n", "hallKierAlpha", "kappa1",
)  # fmt: skip
# Sums of atomic surface over bins of logP, refractivity and partial charge; counts of atoms, bonds, charges and rings.
BLOCKS = {"SlogP_VSA": 12, "SMR_VSA": 10, "PEOE_VSA": 14, "MQN": 42}
NAMES = (*PROPERTIES, *(f"{block}{number}" for block, size in BLOCKS.items() for number in range(1, size + 1)))
WIDTH = len(NAMES)


@cache
def _calculators() -> tuple[Callable[[Any], Any], ...]:
    rdkit()
    from rdkit.Chem import rdMolDescriptors

    properties = rdMolDescriptors.Properties(list(PROPERTIES)).ComputeProperties
    blocks = (getattr(rdMolDescriptors, f"{name}_") for name in ("SlogP_VSA", "SMR_VSA", "PEOE_VSA", "MQNs"))
    return properties, *blocks


def descriptors_of(molecule: Any) -> np.ndarray:
    """[WIDTH] float32 of an RDKit molecule; NaN for what cannot be computed, such as the charges of a metal.

    >>> from rdkit import Chem  # doctest: +SKIP
    >>> descriptors_of(Chem.MolFromSmiles("CCO")).shape  # doctest: +SKIP
    (109,)
    """
    found = np.fromiter((value for calculate in _calculators() for value in calculate(molecule)), np.float64, WIDTH)
    # Beyond float32, or not a number: treated alike, as missing.
    return np.where(np.abs(found) < 1e30, found, np.nan).astype(np.float32)
