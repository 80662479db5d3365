"""Extended-connectivity fingerprints (Rogers & Hahn 2010): what chemists compare everything with. Needs RDKit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .smiles import rdkit, silenced

BITS, RADIUS = 2048, 2


def ecfp(smiles: Sequence[str]) -> np.ndarray:
    """[n, 256] uint8: 2,048 bits a molecule, eight in a byte (`numpy.unpackbits` takes them apart).

    >>> ecfp(["CCO"]).shape  # doctest: +SKIP
    (1, 256)
    """
    chem = rdkit()
    from rdkit.Chem import rdFingerprintGenerator

    make = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    out = np.zeros((len(smiles), BITS // 8), dtype=np.uint8)
    silence = silenced()
    for row, text in enumerate(smiles):
        out[row] = np.packbits(make.GetFingerprintAsNumPy(chem.MolFromSmiles(text)))
    del silence
    return out
