"""What kind a column is: number, true or false, category, text, bag, vector."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import notation
from .cells import is_numeric, strings
from .habits import NUMBERS_AMONG_TEXT, SOME_NUMBERS, first_reading, is_text

KINDS = ("number", "boolean", "category", "text", "bag", "vector", "ignore")
TRUE, FALSE = ("true", "yes", "y", "t", "1", "ja", "wahr"), ("false", "no", "n", "f", "0", "nein", "falsch")
SHORT = 3  # words


def infer_kind(values: pa.ChunkedArray, missing: np.ndarray) -> tuple[str, str]:
    """(kind, why, where it is ignored or may be meant otherwise)."""
    kind = values.type
    if pa.types.is_dictionary(kind):  # declared to be categories, whatever they are
        return ("boolean" if pa.types.is_boolean(kind.value_type) else "category"), ""
    if pa.types.is_boolean(kind):
        return "boolean", ""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return ("bag" if _is_bag(values) else "vector"), ""
    if is_numeric(kind):
        return ("boolean" if _is_zero_or_one(values) else "number"), ""
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "ignore", f"ignored: a column of {kind} is not read"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return "number", ""
    shown = strings(values)[~missing]
    distinct = set(shown[:200_000].tolist())  # an array of text has the width of its longest cell everywhere
    lowered = {value.lower() for value in distinct} if len(distinct) <= 20 else set()
    if len(distinct) <= 20 and lowered <= {*TRUE, *FALSE} and lowered & {*TRUE} and lowered & {*FALSE}:
        return "boolean", ""
    reading = first_reading(values)
    if reading.share >= NUMBERS_AMONG_TEXT:
        return "number", ""
    why = ""
    if units := notation.units(pa.chunked_array([pa.array(shown[:2000].tolist(), pa.string())])):
        why = f"numbers with units ({', '.join(units)}) are not read: write them in one unit, without its name"
    if reading.share >= SOME_NUMBERS:
        why = f'{reading.share:.0%} of the cells are numbers: set its kind to "number" to count the others as missing'
    rows = min(len(shown), 200_000)
    lengths = np.array([len(value.split()) for value in shown[:2000].tolist()])
    is_short = lengths.mean() <= SHORT and len(distinct) <= 0.5 * rows  # "New York" again and again is no text
    if np.mean(lengths > 1) > 0.5 and len(distinct) > min(50, 0.5 * rows) and not is_short:
        return "text", why
    if len(distinct) > 50 and len(distinct) > 0.9 * rows:
        return "ignore", "ignored: a different text in nearly every row, like a name or an id"
    return "category", why


def _is_bag(values: pa.ChunkedArray) -> bool:
    """Whether lists hold texts, or whole numbers and not as many in every row: things, not measurements."""
    inner = values.type.value_type
    lengths = pc.list_value_length(values).unique().drop_null()
    is_vector = len(lengths.filter(pc.greater(lengths, 0))) < 2
    return is_text(inner) or (pa.types.is_integer(inner) and not is_vector)


def _is_zero_or_one(values: pa.ChunkedArray) -> bool:
    """Whether both are there, whole or written as 0.0 and 1.0, and no other number."""
    if pc.min_max(values).as_py() != {"min": 0, "max": 1}:
        return False
    if pa.types.is_integer(values.type):
        return True
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return bool(((numbers == 0) | (numbers == 1) | np.isnan(numbers)).all())
