"""Text and lists of things as a bag of words: what scikit-learn's vectoriser finds, kept as two plain lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cells import as_text, strings
from .privacy import hashed

PATTERN = r"(?u)\b\w\w+\b"
Texts = Sequence[str] | Sequence[Sequence[str]]  # texts, or lists whose things are the words


@dataclass(frozen=True)
class Learned:
    """What a bag of words has learned.

    Attributes:
        words: of the most rows, but of at least two and not of nearly all.
        weights: their inverse document frequencies.
        of: how many different words there are.
        share: of all words of all rows, those that were kept.
        without: share of the rows that have none of them.
    """

    words: list[str]
    weights: list[float]
    of: int = 0
    share: float = 1.0
    without: float = 0.0


def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # a second, which most tables do without

    return TfidfVectorizer


def _splitter() -> Callable[[Any], list[str]]:
    """From a text to its words; a list has them already."""
    split = _vectorizer()(token_pattern=PATTERN).build_analyzer()
    return lambda text: split(text) if isinstance(text, str) else text


def texts_of(values: pa.ChunkedArray) -> Texts:
    """The texts of a column, or its lists with their things as text; what is missing is empty."""
    if not pa.types.is_nested(values.type):
        return list(strings(values).tolist())
    things = as_text(pc.list_flatten(values)).to_pylist()
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    return [things[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def learn(texts: Texts, most: int) -> Learned:
    """The words of the most rows, and what they leave out."""
    split = _splitter()
    vectorizer = _vectorizer()(max_features=most, min_df=2, max_df=0.8, analyzer=split)
    try:
        vectorizer.fit(texts)
    except ValueError:  # nothing is left: no words at all, or none in two rows
        return Learned([], [])
    words = vectorizer.get_feature_names_out().tolist()
    known, often, filled, without = set(words), Counter[str](), 0, 0
    for text in texts:
        found = split(text)
        often.update(found)
        filled += bool(found)
        without += bool(found) and known.isdisjoint(found)
    share = sum(often[word] for word in words) / max(often.total(), 1)
    return Learned(words, [float(each) for each in vectorizer.idf_], len(often), share, without / max(filled, 1))


def encode(texts: Texts, learned: Mapping[str, Any]) -> np.ndarray:
    """[rows, words] float32, every row of length one or zero; `learned` holds words, weights and, if hashed, a salt."""
    split = analyzer = _splitter()
    if "salt" in learned:
        code = cache(partial(hashed, salt=learned["salt"]))
        analyzer = lambda text: [code(word) for word in split(text)]  # noqa: E731
    vectorizer = _vectorizer()(vocabulary=list(learned["words"]), analyzer=analyzer, dtype=np.float32)
    vectorizer.idf_ = np.asarray(learned["weights"], dtype=np.float32)
    return np.asarray(vectorizer.transform(texts).todense(), dtype=np.float32)


def count(texts: Texts) -> np.ndarray:
    """How many different words every text has, [rows]."""
    find = re.compile(PATTERN).findall
    return np.array([len(set(find(each.lower()) if isinstance(each, str) else each)) for each in texts], dtype=np.int64)
