"""How far a loop is: a bar on a terminal, a line every few seconds elsewhere, on stderr; nothing when it is short."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from .streams import is_terminal, show_progress

T = TypeVar("T")
SECONDS = 5.0  # between lines
PATIENCE = 2.0  # seconds before anything is shown


def counted(items: Sequence[T], label: str, shown: bool = True) -> Iterator[T]:
    """The items, one after the other, while a person sees how many are done.

    >>> list(counted([3, 4], "columns"))
    [3, 4]
    """
    began = last = time.monotonic()
    on_terminal, drawn = is_terminal(), False
    for number, item in enumerate(items):
        now = time.monotonic()
        if shown and now - began > PATIENCE and now - last > (0.2 if on_terminal else SECONDS):
            last, drawn = now, True
            left = (now - began) / number * (len(items) - number)
            text = f"{label}: {number:,} of {len(items):,}, about {left:.0f} s left"
            show_progress(f"\r\x1b[K{text}" if on_terminal else f"{text}\n")
        yield item
    if drawn and on_terminal:
        show_progress("\r\x1b[K")
