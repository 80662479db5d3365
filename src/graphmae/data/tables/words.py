"""Text as a bag of words: what scikit-learn's vectoriser finds, kept as two plain lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from .privacy import hashed

PATTERN = r"(?u)\b\w\w+\b"


def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # a second, which most tables do without

    return TfidfVectorizer


def learn(texts: np.ndarray, most: int) -> tuple[list[str], list[float]]:
    """(the words of the most rows, but of at least two and not of nearly all; their inverse document frequencies)."""
    vectorizer = _vectorizer()(max_features=most, min_df=2, max_df=0.8, token_pattern=PATTERN)
    try:
        vectorizer.fit(texts.tolist())
    except ValueError:  # nothing is left: no words at all, or none in two rows
        return [], []
    names = vectorizer.get_feature_names_out().tolist()
    return names, [float(weight) for weight in vectorizer.idf_]


def encode(texts: np.ndarray, learned: Mapping[str, Any]) -> np.ndarray:
    """[rows, words] float32, every row of length one or zero; `learned` holds words, weights and, if hashed, a salt."""
    vectorizer = _vectorizer()(vocabulary=list(learned["words"]), token_pattern=PATTERN, dtype=np.float32)
    if "salt" in learned:
        split, code = vectorizer.build_analyzer(), cache(partial(hashed, salt=learned["salt"]))
        vectorizer.analyzer = lambda text: [code(word) for word in split(text)]
    vectorizer.idf_ = np.asarray(learned["weights"], dtype=np.float32)
    return np.asarray(vectorizer.transform(texts.tolist()).todense(), dtype=np.float32)


def count(texts: np.ndarray) -> np.ndarray:
    """How many different words every text has, [rows]."""
    found = re.compile(PATTERN).findall
    return np.array([len(set(found(text.lower()))) for text in texts.tolist()], dtype=np.int64)
