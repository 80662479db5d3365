"""Embeddings on a plane, to be looked at: PCA, t-SNE, and UMAP where it is installed."""

from __future__ import annotations

import warnings

import numpy as np

MOST_TSNE = 4_000  # rows; more take minutes
WIDTH = 50  # of what t-SNE and UMAP see
STEPS = 500


def projections(rows: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Name → [N, 2] float32 of embeddings `rows` [N, width]; NaN for rows that were left out.

    Rows are first scaled to length 1: what is close points the same way, as `similar` has it. t-SNE takes at most 4,000
    rows, drawn at random. The same rows and seed give the same places.

    >>> sorted(projections(np.random.default_rng(0).normal(size=(12, 4))))[:1]
    ['PCA']
    """
    unit = rows.astype(np.float64) / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    if unit.shape[1] < 2:
        unit = np.column_stack([unit, np.zeros((len(unit), 2 - unit.shape[1]))])
    reduced = principal(unit, min(WIDTH, unit.shape[1]))
    out = {"PCA": reduced[:, :2].astype(np.float32)}
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:MOST_TSNE])
    if len(some) >= 5 and np.ptp(reduced):
        out["t-SNE"] = _placed(len(rows), some, _tsne(reduced[some], seed))
        if (found := _umap(reduced, seed)) is not None:
            out["UMAP"] = found
    return out


def principal(rows: np.ndarray, count: int) -> np.ndarray:
    """[N, count]: rows along the directions of most variance, the sign of each so that the largest is positive."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    out = centred @ vectors[:, ::-1][:, :count]
    return out * np.where(out[np.abs(out).argmax(axis=0), np.arange(out.shape[1])] < 0, -1.0, 1.0)


def _tsne(rows: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(rows) - 1) / 3)
    return np.asarray(TSNE(2, perplexity=perplexity, init="pca", max_iter=STEPS, random_state=seed).fit_transform(rows))


def _umap(rows: np.ndarray, seed: int) -> np.ndarray | None:
    """None where it is not installed."""
    try:
        from umap import UMAP
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed makes it slower
        made = UMAP(n_neighbors=min(15, len(rows) - 1), random_state=seed).fit_transform(rows)
    return np.asarray(made, dtype=np.float32)


def _placed(count: int, some: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.full((count, 2), np.nan, dtype=np.float32)
    out[some] = places
    return out
