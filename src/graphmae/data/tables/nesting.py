"""How deep brackets are nested in JSON, without parsing it."""

from __future__ import annotations

import numpy as np

MOST_DEPTH = 100
STEP = np.zeros(256, dtype=np.int8)
STEP[[ord("["), ord("{")]] = 1
STEP[[ord("]"), ord("}")]] = -1
PIECE = 1 << 22


def is_nested_deep(text: bytes) -> bool:
    """Whether brackets are open more than 100 deep; those inside of strings count too, which errs on the safe side.

    >>> is_nested_deep(b"[" * 101), is_nested_deep(b"[{}]" * 1000)
    (True, False)
    """
    open_ones = 0
    for first in range(0, len(text), PIECE):
        steps = STEP[np.frombuffer(text, np.uint8, min(PIECE, len(text) - first), first)]
        depth = np.cumsum(steps, dtype=np.int32)
        if open_ones + int(depth.max()) > MOST_DEPTH:
            return True
        open_ones += int(depth[-1])
    return False
