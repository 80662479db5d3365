"""Forests and boosted trees as plain arrays: grown by scikit-learn, stored without pickles, applied by our own loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..runtime.compiled import compiled
from ..runtime.errors import InputError

LEAF = -1


@dataclass(frozen=True)
class Trees:
    """Binary trees one after another; a row goes left where its feature is at most the threshold, or NaN says so.

    Attributes:
        feature: [nodes] int32 the column that is asked; -1: a leaf.
        threshold: [nodes] float64.
        left, right: [nodes] int32 the two nodes that follow, counted within all trees; of a leaf, `left` is its row in
            `values`.
        missing_left: [nodes] uint8 whether a row without a value goes left.
        values: [leaves, T] float32 what a leaf adds to the answer.
        roots: [trees] int32.
        width: how many columns a row has.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray
    roots: np.ndarray
    width: int

    def sums(self, x: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """[n, T] float64: of every row of `x` [n, width] float32, the leaves it falls into, added up over the trees.

        The first columns may come as `counts` [n, k] uint8, and the others in `x` [n, width − k]: a fingerprint is then
        read from a fourth of the memory.
        """
        out = np.zeros((len(x), self.values.shape[1]))
        _descend(*self._rows(x, counts), *self._arrays, self.roots, self.values, out)
        return out

    def leaves(self, x: np.ndarray) -> np.ndarray:
        """[n, trees] int32: the row of `values` that every row of `x` reaches in every tree."""
        out = np.zeros((len(x), len(self.roots)), dtype=np.int32)
        _find(*self._rows(x, None), *self._arrays, self.roots, out)
        return out

    def _rows(self, x: np.ndarray, counts: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        first = np.zeros((len(x), 0), dtype=np.uint8) if counts is None else counts
        if first.shape[1] + x.shape[1] != self.width:
            raise ValueError(f"these trees take {self.width} columns, not {first.shape[1] + x.shape[1]}")
        return np.ascontiguousarray(first, dtype=np.uint8), np.ascontiguousarray(x, dtype=np.float32)

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._packed, self._packed.view(np.float32), self.missing_left

    @cached_property
    def _packed(self) -> np.ndarray:
        """[nodes, 4] int32: feature, threshold as the bits of a float32, left, right; a step reads one line of cache.

        A float32 is at most a threshold if and only if it is at most the next float32 below.
        """
        threshold = self.threshold.astype(np.float32)
        below = np.nextafter(threshold, np.float32(-np.inf))
        threshold = np.where(threshold > self.threshold, below, threshold)
        return np.stack([self.feature, threshold.view(np.int32), self.left, self.right], axis=1)

    def to_tensors(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(np.ascontiguousarray(getattr(self, name))) for name in FIELDS}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], width: int) -> Trees:
        """What `to_tensors` gave; refused where a node would lead anywhere else than to a leaf."""
        try:
            arrays = {name: tensors[name].numpy() for name in FIELDS}
        except KeyError as error:
            raise InputError(f"the trees of this predictor lack {error}") from None
        found = cls(**arrays, width=width)
        found._check()
        return found

    def _check(self) -> None:
        nodes = len(self.feature)
        kinds = {"feature": "i4", "threshold": "f8", "left": "i4", "right": "i4", "missing_left": "u1", "roots": "i4"}
        shapes = all(getattr(self, n).shape == (nodes,) for n in FIELDS[:5]) and self.roots.ndim == 1
        types = all(getattr(self, name).dtype == np.dtype(kind) for name, kind in kinds.items())
        if not shapes or not types or self.values.ndim != 2 or self.values.dtype != np.float32:
            raise InputError("the trees of this predictor do not fit together; its files are damaged")
        inner, rows = np.flatnonzero(self.feature != LEAF), self.left[self.feature == LEAF]
        # A child after its parent: every way down ends.
        sound = all(((child[inner] > inner) & (child[inner] < nodes)).all() for child in (self.left, self.right))
        sound = sound and bool(((self.feature >= LEAF) & (self.feature < self.width)).all())
        sound = sound and bool(((rows >= 0) & (rows < len(self.values))).all())
        if not sound or not ((self.roots >= 0) & (self.roots < nodes)).all() or not np.isfinite(self.values).all():
            raise InputError("a tree of this predictor leads nowhere; its files are damaged")


FIELDS = ("feature", "threshold", "left", "right", "missing_left", "values", "roots")


@compiled
def _leaf(counts, x, row, nodes, thresholds, missing_left, node):  # type: ignore[no-untyped-def]
    # Branches, for most bits of a fingerprint are zero: that is foreseen, and the next node is read before it is sure.
    while nodes[node, 0] >= 0:
        column, first = nodes[node, 0], counts.shape[1]
        value = np.float32(counts[row, column]) if column < first else x[row, column - first]
        if value <= thresholds[node, 1]:
            node = nodes[node, 2]
        elif value > thresholds[node, 1]:
            node = nodes[node, 3]
        else:
            node = nodes[node, 2] if missing_left[node] else nodes[node, 3]
    return nodes[node, 2]


@compiled
def _descend(counts, x, nodes, thresholds, missing_left, roots, values, out):  # type: ignore[no-untyped-def]
    # Some rows at a time through all trees: a tree stays in the cache, and so do the rows.
    for first in range(0, x.shape[0], 16):
        last = min(first + 16, x.shape[0])
        for root in roots:
            for row in range(first, last):
                leaf = _leaf(counts, x, row, nodes, thresholds, missing_left, root)
                for target in range(values.shape[1]):
                    out[row, target] += values[leaf, target]


@compiled
def _find(counts, x, nodes, thresholds, missing_left, roots, out):  # type: ignore[no-untyped-def]
    for row in range(x.shape[0]):
        for number in range(roots.shape[0]):
            out[row, number] = _leaf(counts, x, row, nodes, thresholds, missing_left, roots[number])


def joined(parts: Sequence[Trees]) -> Trees:
    """The trees of several, of the same columns and targets."""
    nodes, leaves = (np.cumsum([0, *map(len, rows)])[:-1].astype(np.int32) for rows in
                     ([part.feature for part in parts], [part.values for part in parts]))  # fmt: skip
    left = [
        np.where(p.feature == LEAF, p.left + leaf, p.left + node)
        for p, node, leaf in zip(parts, nodes, leaves, strict=True)
    ]
    right = [part.right + node for part, node in zip(parts, nodes, strict=True)]
    return Trees(
        np.concatenate([part.feature for part in parts]),
        np.concatenate([part.threshold for part in parts]),
        np.concatenate(left).astype(np.int32),
        np.concatenate(right).astype(np.int32),
        np.concatenate([part.missing_left for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.roots + node for part, node in zip(parts, nodes, strict=True)]).astype(np.int32),
        parts[0].width,
    )


def of_forest(forest: Any, target: int = 0, targets: int = 1) -> Trees:
    """Of a random forest: the mean over the trees, of the share of class 1 or of numbers.

    Its answer becomes column `target` of `targets`; one that has several outputs fills all of them.
    """
    parts, trees = [], len(forest.estimators_)
    for estimator in forest.estimators_:
        tree = estimator.tree_
        values = tree.value  # [nodes, outputs, classes], numbers have one class
        share = values[:, :, 1] / values.sum(axis=2) if hasattr(forest, "classes_") else values[:, :, 0]
        wide = share if share.shape[1] > 1 else np.zeros((len(share), targets))
        if share.shape[1] == 1:
            wide[:, target] = share[:, 0]
        parts.append(_tree(tree.feature, tree.threshold, tree.children_left, tree.children_right,
                           tree.missing_go_to_left, wide / trees, forest.n_features_in_))  # fmt: skip
    return joined(parts)


def of_boosting(model: Any, target: int = 0, targets: int = 1) -> tuple[Trees, float]:
    """Of scikit-learn's histogram gradient boosting: its trees, and what they are added to."""
    parts = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        feature = np.where(nodes["is_leaf"], LEAF, nodes["feature_idx"].astype(np.int64))
        values = np.zeros((len(nodes), targets))
        values[:, target] = nodes["value"]
        parts.append(_tree(feature, nodes["num_threshold"], nodes["left"], nodes["right"],
                           nodes["missing_go_to_left"], values, model.n_features_in_))  # fmt: skip
    return joined(parts), float(np.ravel(model._baseline_prediction)[0])


def _tree(
    feature: Any, threshold: Any, left: Any, right: Any, missing_left: Any, values: np.ndarray, width: int
) -> Trees:
    leaf = np.asarray(feature) < 0
    return Trees(
        np.where(leaf, LEAF, feature).astype(np.int32),
        np.where(leaf, 0.0, threshold).astype(np.float64),
        np.where(leaf, np.cumsum(leaf) - 1, np.asarray(left, dtype=np.int64)).astype(np.int32),
        np.where(leaf, 0, np.asarray(right, dtype=np.int64)).astype(np.int32),
        np.asarray(missing_left).astype(np.uint8),
        values[leaf].astype(np.float32),
        np.zeros(1, dtype=np.int32),
        int(width),
    )
