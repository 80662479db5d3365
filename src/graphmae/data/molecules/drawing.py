"""Molecules drawn in a grid, atoms coloured by what a predictor owes them. Needs RDKit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...runtime.files import replacing
from .smiles import rdkit

FORMATS = (".svg", ".png")
WIDTH, HEIGHT, LEGEND = 300, 300, 0.24  # of one molecule; the share of its height for up to four lines of text
LONGEST = 34  # letters of a line that is not drawn smaller
RAISES, LOWERS = (0.80, 0.24, 0.20), (0.20, 0.40, 0.80)  # red and blue, told apart also by those who see no green


def draw_atoms(
    out: Path, smiles: Sequence[str], weights: Sequence[np.ndarray], legends: Sequence[str], columns: int = 4
) -> None:
    """Draw molecules with atoms shaded by `weights` [atoms]: red raises the prediction, blue lowers it.

    The darkest atom of a molecule has its largest weight, which `largest_of` has; what is drawn is written to `out`
    (.svg, .png). Legends may have up to four lines.
    """
    text = _drawn(out.suffix == ".svg", smiles, weights, legends, columns)
    with replacing(out) as partial:
        partial.write_bytes(text.encode() if isinstance(text, str) else text)


def largest_of(weights: np.ndarray) -> float:
    """The weight of the darkest atom."""
    return float(weights[np.abs(weights).argmax()]) if len(weights) else 0.0


def atoms_as_svg(smiles: str, weights: np.ndarray) -> str:
    """One molecule, as `draw_atoms` shades it."""
    return str(_drawn(True, [smiles], [weights], [""], 1))


def _drawn(
    is_svg: bool, smiles: Sequence[str], weights: Sequence[np.ndarray], legends: Sequence[str], columns: int
) -> str | bytes:
    chem = rdkit()
    from rdkit.Chem import rdDepictor
    from rdkit.Chem.Draw import rdMolDraw2D

    molecules = [chem.MolFromSmiles(text) for text in smiles]
    for molecule in molecules:
        rdDepictor.Compute2DCoords(molecule)
    columns = max(1, min(columns, len(molecules)))
    make = rdMolDraw2D.MolDraw2DSVG if is_svg else rdMolDraw2D.MolDraw2DCairo
    canvas = make(columns * WIDTH, -(-len(molecules) // columns) * HEIGHT, WIDTH, HEIGHT)
    options = canvas.drawOptions()
    options.legendFontSize = 15  # type: ignore[assignment]
    options.legendFraction = LEGEND if any(legends) else 0.0  # type: ignore[assignment]
    options.useBWAtomPalette()
    shades = [_shades(values) for values in weights]
    canvas.DrawMolecules(
        molecules,
        legends=list(legends),
        highlightAtoms=[list(shade) for shade in shades],
        highlightAtomColors=shades,
        highlightBonds=[[] for _ in molecules],
    )
    canvas.FinishDrawing()
    text: str | bytes = canvas.GetDrawingText()
    return text


def _shades(weights: np.ndarray) -> dict[int, tuple[float, float, float]]:
    """Atom → colour, from white to red or blue; atoms with less than 10 % of the largest weight stay white."""
    largest = abs(largest_of(weights))
    out = {}
    for atom, weight in enumerate(weights.tolist()):
        share = abs(weight) / largest if largest > 0 else 0.0
        if share >= 0.1:
            red, green, blue = RAISES if weight > 0 else LOWERS
            out[atom] = (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))
    return out
