"""Words and categories a checkpoint does not spell out: stored as hashes; cells are hashed alike before a look-up.

Whoever has the checkpoint can still try a word: hashes keep values from being read, not from being guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

HIDDEN = ("levels", "words")  # what a column learns that is made of the table's own values


def hashed(text: str, salt: str) -> str:
    """16 hexadecimal digits.

    >>> hashed("cat", "00ff") == hashed("cat", "00ff") != hashed("cat", "00fe")
    True
    """
    return hashlib.blake2b(text.encode(), key=bytes.fromhex(salt), digest_size=8).hexdigest()


def hide(learned: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The same with its words or levels hashed, in the order of the hashes: that of the alphabet would tell.

    The salt follows from all of them together, so the same table gives the same features, and a list of hashes made
    for one table is of no use for another.
    """
    hidden = dict(learned)
    for key in HIDDEN:
        if key in learned:
            salt = hashlib.blake2b("\0".join([column, *learned[key]]).encode(), digest_size=16).hexdigest()
            codes = [hashed(value, salt) for value in learned[key]]
            order = sorted(range(len(codes)), key=codes.__getitem__)
            hidden |= {key: [codes[i] for i in order], "salt": salt}
            if "weights" in learned:
                hidden["weights"] = [learned["weights"][i] for i in order]
    return hidden
