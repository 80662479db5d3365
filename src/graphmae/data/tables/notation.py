"""Numbers as people write them: decimal commas, thousands, currencies, percent; decided for a column as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

POINT, COMMA = "decimal-point", "decimal-comma"
UNITS = (
    r"(?i:kg|g|mg|µg|lbs?|oz|km|cm|mm|µm|nm|miles?|ft|inch(?:es)?|ml|cl|dl|l|liters?|litres?|secs?|ms|mins?|hrs?|hours?|"
    r"days?|weeks?|months?|years?|km/h|mph|m/s|[kmgt]b|[km]?wh?|[kmg]?hz|°[cf]|m[²³]?|km²|mmol(?:/l)?|mg/[dm]?l)"
)
BROKEN = 0.1  # of the cells: as many may be written in another way than the rest, and count as missing
SIGNS = r"US\$|R\$|A\$|C\$|[€$£¥₹₽₺₩₪฿₫₴₦]"
CODES = r"EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|RUB|TRY|BRL|CAD|AUD|NZD|ZAR|MXN|KRW|SFr\.|Rs\.?|kr\.?|zł"
CURRENCY = rf"(?:{SIGNS}|{CODES})"
_GROUPED = r"[1-9]\d{{0,2}}(?:{0}\d{{3}})+"
_NUMBER = r"^[-+]?(?:(?:\d+|{grouped})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?$"
FORMS = {
    POINT: _NUMBER.format(grouped=_GROUPED.format(",") + r"|[1-9]\d?(?:,\d{2})+,\d{3}", point=r"\."),  # also 12,34,567
    COMMA: _NUMBER.format(grouped=_GROUPED.format(r"\."), point=","),
}
# (what is written, what it means), one after the other; what is left is digits, signs, points and commas.
PLAIN = (
    (r"[\x{a0}\x{202f}\x{2009}\x{2007}]", " "),
    (r"^\s*[−–]", "-"),
    (r"^\s+|\s+$", ""),
    (r"^\((.*\d.*)\)$", r"-\1"),  # as in accounts
    (rf"^([-+]?)\s*{CURRENCY}\s*([-+]?[\d.,].*)$", r"\1\2"),
    (rf"^(.*\d[.,]?(?:[-–—]+)?)\s*{CURRENCY}$", r"\1"),
    (r"^(.*\d)[.,][-–—]+$", r"\1"),  # 5,– for five whole
    (r"^([\d.,]+)-$", r"-\1"),
)
BARE = r"^[-+]?[\d.,]*(?:[eE][-+]?\d+)?$"  # nothing around it that would have to go
SPACED = r"^[-+]?[1-9]\d{0,2}(?:[ '’]\d{3})+(?:[.,]\d+)?$"
PERCENT = r"\s*%$"


@dataclass(frozen=True)
class Reading:
    """How the cells of a text column are read as numbers.

    Attributes:
        notation: decimal-point or decimal-comma, of dates day-first or month-first; "" where they are none.
        share: of the cells, those that can be read so.
        clear: whether some cell can be read in no other notation.
        doubt: an example that means something else in the other notation, where no cell decides.
        clash: an example of each notation, where both are there.
        remarks: what people should know.
    """

    notation: str = ""
    share: float = 0.0
    clear: bool = False
    doubt: str = ""
    clash: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def decide(cells: pa.ChunkedArray) -> Reading:
    """The notation of cells that are not missing: the one that reads nearly all of them.

    >>> decide(pa.chunked_array([["1.234,50 €", "12,00 €", "1.000 €"]])).notation
    'decimal-comma'
    """
    plain, _ = _plain(cells)
    reads = {form: _matches(plain, pattern) for form, pattern in FORMS.items()}
    either = reads[POINT] | reads[COMMA]
    share = float(either.mean()) if len(either) else 0.0
    if not share:
        return Reading()
    only = {POINT: reads[POINT] & ~reads[COMMA], COMMA: reads[COMMA] & ~reads[POINT]}
    counts = {form: int(mask.sum()) for form, mask in only.items()}
    remarks = _remarks(cells, either)
    if not any(counts.values()):
        two_ways = either & _matches(plain, r"[.,]")
        doubt = _first(cells, two_ways) if two_ways.any() else ""
        return Reading(POINT, share, doubt=doubt, remarks=remarks)
    more, less = sorted(counts, key=lambda form: -counts[form])
    if counts[less] > BROKEN * either.sum():
        return Reading(more, share, clash=(_first(cells, only[more]), _first(cells, only[less])), remarks=remarks)
    return Reading(more, float(reads[more].mean()), True, remarks=remarks)


def numbers(cells: pa.ChunkedArray, notation: str = "") -> np.ndarray:
    """Every cell as a number, [rows] float64, NaN where it is none; 5 % is 0.05.

    `notation` is that of the column in training. It decides for cells that can be read in both; where cells can only be
    read in the other one, that is used.
    """
    plain, percent = _plain(cells)
    used = notation or POINT
    readable = _matches(plain, FORMS[used])
    if not readable.all():
        found = decide(cells)
        if found.clear and found.notation != used:
            used, readable = found.notation, _matches(plain, FORMS[found.notation])
    bare = pc.if_else(pa.array(readable), plain, None)
    if used == COMMA:
        bare = pc.replace_substring(pc.replace_substring(bare, ".", ""), ",", ".")
    else:
        bare = pc.replace_substring(bare, ",", "")
    bare = pc.replace_substring_regex(bare, r"^\+", "")
    values = np.asarray(bare.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.where(percent, values / 100, values)


def _plain(cells: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """(digits, points and commas without the signs around them, which cells had a percent sign)."""
    text = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if _matches(text, BARE).all():
        return text, np.zeros(len(text), dtype=bool)
    for written, meant in PLAIN:
        text = pc.replace_substring_regex(text, written, meant)
    percent = _matches(text, PERCENT)
    if percent.any():
        text = pc.replace_substring_regex(text, PERCENT, "")
    spaced = pc.match_substring_regex(text, SPACED)
    return pc.if_else(spaced, pc.replace_substring_regex(text, "[ '’]", ""), text), percent


def _remarks(cells: pa.ChunkedArray, read: np.ndarray) -> tuple[str, ...]:
    found: list[str] = []
    if _matches(cells, BARE).all():
        return ()
    percent = _matches(cells, PERCENT)[read]
    if percent.any() and not percent.all():
        found.append(f"{int(percent.sum()):,} of {len(percent):,} cells have a percent sign and were divided by 100")
    signs = pc.struct_field(pc.extract_regex(cells, rf"(?P<sign>{CURRENCY})"), "sign")
    several = sorted(value for value in pc.unique(signs).to_pylist() if value)
    if len(several) > 1:
        found.append(f"amounts in several currencies ({', '.join(several[:5])}) were not converted")
    return tuple(found)


def units(cells: pa.ChunkedArray) -> list[str]:
    """The units nearly all cells have after a number, as in 5 kg; those of money and percent are read, and not here.

    >>> units(pa.chunked_array([["5 kg", "5000 g", "2.5kg"]]))
    ['g', 'kg']
    """
    parts = pc.extract_regex(cells.combine_chunks(), rf"^\s*[-+]?\d[\d.,]*\s*(?P<unit>{UNITS})\.?\s*$")
    found = pc.drop_null(pc.struct_field(parts, "unit"))
    return sorted(pc.unique(found).to_pylist()) if len(found) >= (1 - BROKEN) * len(cells) > 0 else []


def _matches(cells: pa.ChunkedArray | pa.Array, pattern: str) -> np.ndarray:
    return np.asarray(pc.fill_null(pc.match_substring_regex(cells, pattern), False).to_numpy(zero_copy_only=False))


def _first(cells: pa.ChunkedArray, mask: np.ndarray) -> str:
    return str(cells[int(mask.argmax())].as_py())
