"""graph2vec (Narayanan et al. 2017): a graph is a document whose words are its Weisfeiler–Lehman neighbourhoods.

Rows are learned for the graphs at hand, without labels and without an encoder: a graph's row predicts its words against
random others (PV-DBOW with negative sampling, as in doc2vec).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..data import GraphSet
from .weisfeiler_lehman import wl_colours

WIDTH, STEPS, EPOCHS, RATE = 128, 2, 10, 0.025  # as published
RAREST = 5  # a word that occurs less often is left out
SAMPLE = 1e-4  # words of a larger share are taken less often
NEGATIVES = 5
LAST_RATE = 1e-4


def graph2vec(graphs: GraphSet, seed: int, epochs: int = EPOCHS) -> np.ndarray:
    """[G, 128] one row per graph; the same for the same seed.

    L = −Σ log σ(u_w · v_g) − Σ log σ(−u_w′ · v_g) over the words w of each graph g and five random words w′ for each,
    drawn by their count to the power ¾. Frequent words are skipped at random, as in word2vec.
    """
    random = np.random.default_rng(seed)
    owner, word, count = _words(graphs)
    rows = (random.random((len(graphs), WIDTH), dtype=np.float32) - np.float32(0.5)) / WIDTH
    if not len(word):
        return rows
    out = np.zeros((len(count), WIDTH), np.float32)
    share = count / count.sum()
    kept = np.minimum(1.0, np.sqrt(SAMPLE / share) + SAMPLE / share)
    noise = np.cumsum(count**0.75)
    for epoch in range(epochs):
        taken = random.permutation(np.flatnonzero(random.random(len(word)) < kept[word]))
        others = np.searchsorted(noise, random.random((len(taken), NEGATIVES)) * noise[-1], side="right")
        done = (epoch + np.arange(len(taken)) / max(1, len(taken))) / epochs
        rates = (RATE - (RATE - LAST_RATE) * done).astype(np.float32)
        _learn(rows, out, owner[taken], word[taken], others, rates)
    return rows


def _words(graphs: GraphSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """([T] the graph, [T] the number of each word in the set, [W] how often each occurs); rare words are left out."""
    nodes = np.repeat(np.arange(len(graphs)), graphs.node_ptr.diff().numpy())
    steps, first = [], 0
    for colour in wl_colours(graphs, STEPS):
        steps.append(first + colour)
        first = int(steps[-1].max()) + 1
    owner, word = np.tile(nodes, len(steps)), np.concatenate(steps)
    often = (np.bincount(word) >= RAREST)[word]
    _, number, count = np.unique(word[often], return_inverse=True, return_counts=True)
    return owner[often], number.reshape(-1), count


@njit(cache=True, nogil=True)
def _learn(rows, out, owner, word, others, rates):  # type: ignore[no-untyped-def]
    """One pass of gradient descent, a word at a time; `rows` and `out` are changed in place."""
    width = rows.shape[1]
    change = np.zeros(width, np.float32)
    for t in range(len(word)):
        row, rate = rows[owner[t]], rates[t]
        change[:] = 0
        for k in range(others.shape[1] + 1):
            target = word[t] if k == 0 else others[t, k - 1]
            if k > 0 and target == word[t]:
                continue
            score = np.float32(0)
            for c in range(width):
                score += row[c] * out[target, c]
            step = rate * (np.float32(k == 0) - np.float32(1) / (np.float32(1) + np.exp(-score)))
            for c in range(width):
                change[c] += step * out[target, c]
                out[target, c] += step * row[c]
        for c in range(width):
            row[c] += change[c]
