"""Units of concentrations, and the scales numbers are learned on: as they are, log10, or −log10 of the molar value."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

Transform = Literal["none", "log10", "pIC50"]
MOLAR = {"M": 1.0, "mM": 1e-3, "uM": 1e-6, "nM": 1e-9, "pM": 1e-12, "fM": 1e-15}
# As people write them; a lone m is a metre, but nobody measures inhibition in nanometres.
SPELT = {
    **{unit.lower(): unit for unit in MOLAR if unit != "M"},
    "µm": "uM", "μm": "uM", "mol/l": "M", "mol/litre": "M", "nmol/l": "nM", "umol/l": "uM", "µmol/l": "uM",
    "μmol/l": "uM", "mmol/l": "mM", "nanomolar": "nM", "micromolar": "uM", "millimolar": "mM", "molar": "M",
}  # fmt: skip
OTHERS = r"%|[mµμun]?g[/ .]?m?l(?:-1)?|mg/kg|h(?:ours?)?|min|s|°?C"
IN_A_CELL = re.compile(rf"^(?P<number>.*\d\.?)\s*(?P<unit>[fpnuµμm]?M|[pnuµμ]m|[fpnuµμm]?mol/[lL]|{OTHERS})$")
IN_A_NAME = re.compile(r"(?:^|[\s_(\[/,.\-])([fpnuµμm]?M|[pnuµμ]m|[fpnuµμm]?mol/[lL])[)\]]?$")
POTENCY = re.compile(
    r"(?:^|[^a-z])(?:ic|ec|ac|gi|cc|ed|ld|tc|lc)[\s_-]?[1-9]\d(?:[^\d]|$)|(?:^|[^a-z])(?:ki|kd|mic)(?:[^a-z]|$)"
)
ON_A_LOG_SCALE = re.compile(r"^p(?:ic|ec|ac|gi|ki|kd|ka|chembl)|log|^p\s?-?(?:ic|ec|ac)", re.IGNORECASE)
MOSTLY = 0.95  # of the values are above 0 where a log scale is suggested
DECADES = 2.0  # between the smallest and the largest value: over as many a log scale is suggested


def molar_unit(text: str) -> str:
    """'nM' of "nM", "nanomolar" or "nmol/L"; "" where it is not a unit of concentration.

    >>> molar_unit("µM"), molar_unit("ug/mL")
    ('uM', '')
    """
    text = text.strip().strip("()[]")
    return "M" if text == "M" else SPELT.get(text.lower(), "")


def unit_in_name(name: str) -> str:
    """'nM' of "IC50 (nM)" or "ki_nm"; "" where the name of the column has none."""
    found = IN_A_NAME.search(name.strip())
    return molar_unit(found[1]) if found else ""


def without_unit(cell: str) -> tuple[str, str]:
    """('12', 'nM') of "12 nM"; the unit is "" where there is none.

    >>> without_unit("0.5 µM"), without_unit("12")
    (('0.5', 'uM'), ('12', ''))
    """
    found = IN_A_CELL.match(cell)
    if found is None:
        return cell, ""
    return found["number"].strip(), molar_unit(found["unit"]) or found["unit"]


def transformed(values: np.ndarray, transform: Transform, unit: str) -> np.ndarray:
    """`values` on the scale that is learned; NaN for numbers that are not above 0, which have no logarithm.

    >>> transformed(np.array([1000.0]), "pIC50", "nM").round(6).tolist()
    [6.0]
    """
    if transform == "none":
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(values > 0, np.log10(values), np.nan)
    return logs if transform == "log10" else -(logs + np.log10(MOLAR[unit]))


def is_concentration(name: str) -> bool:
    """Whether the name of a column says so: the lower, the more potent.

    >>> is_concentration("IC50 (nM)"), is_concentration("pIC50(IC50 (nM))"), is_concentration("solubility")
    (True, False, False)
    """
    return not ON_A_LOG_SCALE.search(name) and bool(unit_in_name(name) or POTENCY.search(name.lower()))


def suggestion(name: str, values: np.ndarray, unit: str) -> str:
    """A sentence, where numbers look as if they had better be learned on a log scale; else ""."""
    known = values[np.isfinite(values)]
    count, known = len(known), known[known > 0]
    if not len(known) or len(known) < MOSTLY * count or ON_A_LOG_SCALE.search(name):
        return ""
    decades = float(np.log10(known.max() / known.min()))
    span = f"from {known.min():g} to {known.max():g}{' ' + unit if unit else ''}"
    if left := count - len(known):
        span += f" ({left:,} of {count:,} are not above 0 and have no logarithm)"
    if decades >= DECADES and (unit in MOLAR or POTENCY.search(name.lower())):
        how = "--set data.transform=pIC50" + ("" if unit in MOLAR else " --set data.unit=nM (or uM, …)")
        return f"{name!r} goes {span}: {how} learns −log10 of the molar value, which is what is usually modelled"
    if decades >= 2 * DECADES:
        return f"{name!r} goes {span}: --set data.transform=log10 learns its logarithm"
    return ""
