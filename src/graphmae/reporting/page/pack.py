"""Numbers and text inside an HTML file: small, and never read as anything but data."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import Any

import numpy as np

# What could end a script element or begin another, and what older scripts take for the end of a line.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
LARGEST = 65_535


def json_for_html(value: Any) -> str:
    """JSON that may stand in a <script type="application/json"> whatever its strings say.

    >>> json_for_html(["</script><img onerror=x>"])
    '["\\\\u003c/script\\\\u003e\\\\u003cimg onerror=x\\\\u003e"]'
    """
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escaped in ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be written to a file


def _finite(value: Any) -> Any:
    """NaN and infinity, which JSON does not have, as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def packed(array: np.ndarray) -> dict[str, Any]:
    """An array as its bytes, little-endian, in base64: {"type": "u2", "shape": [20000, 2], "data": "…"}.

    >>> packed(np.array([1, 2], dtype=np.uint8))
    {'type': 'u1', 'shape': [2], 'data': 'AQI='}
    """
    narrow = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "type": f"{array.dtype.kind}{array.dtype.itemsize}",
        "shape": list(array.shape),
        "data": base64.b64encode(narrow.tobytes()).decode(),
    }


def base64_text(text: str) -> str:
    """Text as a data URL has it.

    >>> base64_text("<svg/>")
    'PHN2Zy8+'
    """
    return base64.b64encode(text.encode()).decode()


def whole_numbers(array: np.ndarray) -> np.ndarray:
    """The same whole numbers, none negative, in the narrowest type."""
    highest = int(array.max()) if array.size else 0
    kind = np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.uint32
    return array.astype(kind)


def quantised(coordinates: np.ndarray) -> np.ndarray:
    """[n, 2] coordinates on a square of 65,535 steps, as wide as high in the same units; rows with NaN are 65,535.

    >>> quantised(np.array([[0.0, 0.0], [1.0, 2.0], [np.nan, 0.0]])).tolist()
    [[16384, 0], [49150, 65534], [65535, 65535]]
    """
    there = np.isfinite(coordinates).all(axis=1)
    out = np.full(coordinates.shape, LARGEST, dtype=np.uint16)
    if there.any():
        known = coordinates[there].astype(np.float64)
        low, high = known.min(axis=0), known.max(axis=0)
        side = float((high - low).max()) or 1.0
        out[there] = np.rint(((known - (low + high) / 2) / side + 0.5) * (LARGEST - 1)).astype(np.uint16)
    return out


def sha256_source(text: str) -> str:
    """What a content-security policy calls an inline script or style of this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
