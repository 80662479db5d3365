"""What an automatic predictor may be made of beside a fine-tuned encoder: models of fingerprints, descriptors and
frozen embeddings, each stored as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from ..data.molecules.neighbours import TanimotoIndex, bits_of
from ..evaluation.many_targets import fit_linear
from .kernel import Radial, fit_ridge
from .trees import Trees, joined, of_boosting, of_forest

Kind = Literal["classification", "regression"]
Blocks = Mapping[str, np.ndarray]  # embedding [n, width], ecfp [n, 2048] counts, descriptors [n, 108]
ALL = ("embedding", "ecfp", "descriptors")


@dataclass(frozen=True)
class Spec:
    """A member by name: which blocks of features it sees, what learns from them, and settings to choose from.

    One that is `by_name` is fitted only where it is asked for: it takes long, and on eight sets of molecules had little
    or no weight in a predictor.
    """

    blocks: tuple[str, ...]
    learner: Literal["linear", "forest", "boosting", "kernel"]
    settings: tuple[float, ...] = (0.0,)
    by_name: bool = False


SPECS: dict[str, Spec] = {
    "frozen-linear": Spec(("embedding",), "linear", (1e-3, 1e-2, 1e-1)),
    "frozen-boosting": Spec(("embedding",), "boosting", by_name=True),
    "ecfp-linear": Spec(("ecfp",), "linear", (1e-2, 1e-1, 1.0)),
    "ecfp-forest": Spec(("ecfp",), "forest"),
    "ecfp-kernel": Spec(("ecfp",), "kernel", (0.1, 1.0)),
    "descriptors-boosting": Spec(("descriptors",), "boosting"),
    "descriptors-forest": Spec(("descriptors",), "forest"),
    "ecfp-descriptors-forest": Spec(("ecfp", "descriptors"), "forest"),
    "ecfp-descriptors-kernel": Spec(("ecfp", "descriptors"), "kernel", (0.1, 0.3)),
    "all-boosting": Spec(ALL, "boosting", by_name=True),
}
FINETUNED = "finetuned"
NAMES = (FINETUNED, *SPECS)
BITS_OF_BOOSTING = 256  # the most variable of the 2,048: boosting takes time by the column
OWN_FOREST = 3  # targets up to which each has a forest of its own; more share the trees
OWN_FOREST_SPARSE = 20  # the same where less than a third of the values are known: forests of few molecules are quick
MOST_ROWS_OF_KERNEL = 5_000
FEW_TARGETS = 8  # up to which a linear model adds up its weights bit by bit
MISSING = -1.0  # what forests see where a descriptor is not known
MOST_GROWN_ON = 32  # targets that shared trees are grown on
FEW = 10_000  # values of targets that one thread is fastest with


def affordable(name: str, rows: int, values: int) -> bool:
    """Whether a member can be fitted to so many molecules in a few minutes, some folds over; `values` are those that
    were measured, of all targets together."""
    if name == "descriptors-boosting":  # takes time by the column, whatever the number of molecules
        return values <= 300_000
    if name == "ecfp-descriptors-forest":  # one forest of fingerprints is enough where it takes minutes
        return values <= 200_000
    spec = SPECS[name]
    return not spec.by_name and (spec.learner != "kernel" or rows <= MOST_ROWS_OF_KERNEL)


@dataclass(frozen=True)
class Fitted:
    """A fitted member.

    Attributes:
        columns: which of the columns of all its blocks, side by side, it reads; None: all of them.
        trees, weight: what a forest, boosting or a linear model learned.
        index, radial, dual: of a kernel, the molecules it compares with, and what similarities are multiplied with.
        base: [T] what trees are added to.
        squashed: whether the sum goes through a logistic function.
    """

    name: str
    blocks: tuple[str, ...]
    columns: np.ndarray | None
    trees: Trees | None = None
    weight: np.ndarray | None = None  # [T, width]
    base: np.ndarray | None = None  # [T]
    index: TanimotoIndex | None = None
    dual: np.ndarray | None = None  # [M, T]
    radial: Radial | None = None
    squashed: bool = False

    def predict(self, blocks: Blocks) -> np.ndarray:
        """[n, T]: probabilities of class 1, or numbers."""
        if self.index is not None:
            assert self.dual is not None
            return self.of_similar(self.index.search(blocks["ecfp"], self.dual)[2], blocks["descriptors"])
        out = self._sums(blocks).astype(np.float64) + (0.0 if self.base is None else self.base)
        return 1 / (1 + np.exp(-np.clip(out, -50, 50))) if self.squashed else out

    def _sums(self, blocks: Blocks) -> np.ndarray:
        if self.weight is not None and self.blocks == ("ecfp",) and len(self.weight) <= FEW_TARGETS:
            row, bit = bits_of(blocks["ecfp"])  # one in forty
            return np.stack([np.bincount(row, own[bit], len(blocks["ecfp"])) for own in self.weight], axis=1)
        if self.weight is not None:
            return matrix(blocks, self.blocks, self.columns, bits=True) @ self.weight.T.astype(np.float32)
        if self.trees is None:  # there was nothing to learn
            return np.zeros((len(blocks[self.blocks[0]]), 1))
        if not self.is_forest:
            return self.trees.sums(matrix(blocks, self.blocks, self.columns))
        counts = blocks["ecfp"] if "ecfp" in self.blocks else None
        others = tuple(name for name in self.blocks if name != "ecfp")
        rest = matrix(blocks, others, None) if others else np.zeros((len(blocks["ecfp"]), 0), np.float32)
        return self.trees.sums(np.nan_to_num(rest, nan=MISSING), counts)

    @property
    def is_forest(self) -> bool:
        return SPECS[self.name].learner == "forest"

    def of_similar(self, sums: np.ndarray, descriptors: np.ndarray) -> np.ndarray:
        """What a kernel says, given the Tanimoto similarities to its molecules weighed by `dual` and added up, [n, T],
        and descriptors [n, 108], which one that has a `radial` part reads too."""
        assert self.base is not None and self.dual is not None
        if self.radial is not None:
            sums = sums + self.radial.sums(descriptors, self.dual)
        return np.clip(sums + self.base, 0.005, 0.995) if self.squashed else sums + self.base

    def to_tensors(self) -> dict[str, Tensor]:
        """Everything but the name and the blocks, which `describe` has."""
        found: dict[str, np.ndarray] = {}
        for key in ("columns", "weight", "base", "dual"):
            if (value := getattr(self, key)) is not None:
                found[key] = value
        if self.index is not None:
            found |= {"begins": self.index.begins, "members": self.index.members, "sizes": self.index.sizes}
        if self.radial is not None:
            found |= {"middle": self.radial.middle, "scale": self.radial.scale, "rows": self.radial.rows}
        tensors = {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in found.items()}
        if self.trees is not None:
            tensors |= {f"trees.{key}": value for key, value in self.trees.to_tensors().items()}
        return tensors


def matrix(blocks: Blocks, names: tuple[str, ...], columns: np.ndarray | None, bits: bool = False) -> np.ndarray:
    """[n, width] float32: the blocks side by side; `bits`: fingerprints as zeros and ones instead of counts."""
    parts = [np.minimum(blocks[n], 1) if bits and n == "ecfp" else blocks[n] for n in names]
    if columns is not None:
        starts = np.cumsum([0, *(part.shape[1] for part in parts)])
        own = [columns[(columns >= a) & (columns < b)] - a for a, b in pairwise(starts)]
        parts = [part[:, chosen] for part, chosen in zip(parts, own, strict=True)]
    return np.concatenate([np.asarray(part, dtype=np.float32) for part in parts], axis=1)


def fit(name: str, setting: float, blocks: Blocks, y: np.ndarray, kind: Kind, seed: int) -> Fitted:
    """Fit a member to `y` [n, T], NaN where nothing was measured."""
    # Threads that wait for one another take more time than they save on a few molecules, and forests have their own.
    with threadpool_limits(1 if len(y) * y.shape[1] <= FEW else None):
        return _fit(name, setting, blocks, y, kind, seed)


def _fit(name: str, setting: float, blocks: Blocks, y: np.ndarray, kind: Kind, seed: int) -> Fitted:
    spec = SPECS[name]
    if spec.learner == "kernel":
        return _kernel(name, setting, blocks, y, kind)
    columns = _columns(blocks, spec) if spec.learner == "boosting" else None
    x = matrix(blocks, spec.blocks, columns, bits=spec.learner == "linear")
    squashed = kind == "classification"
    if spec.learner == "linear":
        weight, bias = fit_linear(x, y, setting, kind, standardize=spec.blocks != ("ecfp",))
        return Fitted(name, spec.blocks, columns, weight=weight, base=bias, squashed=squashed)
    if spec.learner == "boosting":
        trees, base = _boosting(x, y, kind, seed)
        return Fitted(name, spec.blocks, columns, trees=trees, base=base, squashed=squashed)
    trees, base = _forest(x, y, kind, seed)
    return Fitted(name, spec.blocks, columns, trees=trees, base=base)


def _columns(blocks: Blocks, spec: Spec) -> np.ndarray | None:
    """The most variable bits of fingerprints and all other columns; None where there are no fingerprints."""
    if "ecfp" not in spec.blocks:
        return None
    kept, start = [], 0
    for name in spec.blocks:
        width = blocks[name].shape[1]
        chosen = np.arange(width)
        if name == "ecfp":
            spread = (blocks[name] > 0).mean(axis=0)
            chosen = np.sort(np.argsort(-spread * (1 - spread), kind="stable")[:BITS_OF_BOOSTING])
        kept.append(start + chosen)
        start += width
    return np.concatenate(kept)


def _is_constant(values: np.ndarray) -> bool:
    return len(values) < 2 or bool((values == values[0]).all())


def _prior(values: np.ndarray, kind: Kind) -> float:
    """What is predicted where nothing can be learned; of classes a share that is not quite 0 or 1."""
    if kind == "regression":
        return float(values.mean()) if len(values) else 0.0
    return float((values.sum() + 0.5) / (len(values) + 1))


def _boosting(x: np.ndarray, y: np.ndarray, kind: Kind, seed: int) -> tuple[Trees | None, np.ndarray]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    parts, base = [], np.zeros(y.shape[1])
    make: Any = HistGradientBoostingClassifier if kind == "classification" else HistGradientBoostingRegressor
    for target, column in enumerate(y.T):
        known = ~np.isnan(column)
        values = column[known]
        if _is_constant(values):
            prior = _prior(values, kind)
            base[target] = np.log(prior / (1 - prior)) if kind == "classification" else prior
            continue
        model = make(
            learning_rate=0.06, max_iter=150, max_leaf_nodes=15, min_samples_leaf=10, l2_regularization=1.0,
            early_stopping=False, random_state=seed,
        )  # fmt: skip
        trees, base[target] = of_boosting(model.fit(x[known], values), target, y.shape[1])
        parts.append(trees)
    return joined(parts) if parts else None, base


def _forest(x: np.ndarray, y: np.ndarray, kind: Kind, seed: int) -> tuple[Trees | None, np.ndarray]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from ..evaluation.fingerprints import by_column

    x = np.nan_to_num(x, nan=MISSING)
    most = OWN_FOREST if np.isfinite(y).mean() > 1 / 3 else OWN_FOREST_SPARSE
    if y.shape[1] > most:
        return _shared_forest(x, y, kind, seed), np.zeros(y.shape[1])
    parts, base = [], np.zeros(y.shape[1])
    trees = 300 if len(x) <= 5_000 else 100
    for target, column in enumerate(y.T):
        known = ~np.isnan(column)
        values = column[known]
        if _is_constant(values):
            base[target] = _prior(values, kind)
            continue
        model: Any = RandomForestRegressor(trees, max_features=0.33, n_jobs=-1, random_state=seed)
        if kind == "classification":
            model = RandomForestClassifier(trees, n_jobs=-1, random_state=seed)
        parts.append(of_forest(model.fit(by_column(x[known]), values), target, y.shape[1]))
    return joined(parts) if parts else None, base


def _shared_forest(x: np.ndarray, y: np.ndarray, kind: Kind, seed: int) -> Trees:
    """One forest for many targets: trees grown on all of them, leaves that count what was measured alone.

    More than 32 targets are mixed at random into 32 first, which keeps how far apart molecules are (Joly et al. 2014).
    """
    from sklearn.ensemble import ExtraTreesRegressor

    from ..evaluation.fingerprints import by_column

    known = ~np.isnan(y)
    prior = np.array([_prior(column[~np.isnan(column)], kind) for column in y.T])
    filled = np.where(known, y, prior)
    spread = filled.std(axis=0)
    model = ExtraTreesRegressor(
        150 if len(x) <= 5_000 else 60, min_samples_leaf=3, max_features=0.1, n_jobs=-1, random_state=seed
    )
    wanted = (filled - prior) / np.where(spread > 0, spread, 1.0)
    if wanted.shape[1] > MOST_GROWN_ON:
        mixed = np.random.default_rng(seed).standard_normal((wanted.shape[1], MOST_GROWN_ON))
        wanted = wanted @ (mixed / np.sqrt(MOST_GROWN_ON))
    grown = of_forest(model.fit(by_column(x), wanted))
    sums, counts = np.zeros((2, len(grown.values), y.shape[1]))
    measured = np.where(known, y, 0.0)
    for leaf in grown.leaves(x).T:  # leaves of one tree: every row is in one of them
        order = np.argsort(leaf, kind="stable")
        own, begins = np.unique(leaf[order], return_index=True)
        sums[own] = np.add.reduceat(measured[order], begins)
        counts[own] = np.add.reduceat(known[order], begins, dtype=np.int64)
    values = (sums + prior) / (counts + 1.0) / len(grown.roots)
    return replace(grown, values=values.astype(np.float32))


def _kernel(name: str, setting: float, blocks: Blocks, y: np.ndarray, kind: Kind) -> Fitted:
    """Ridge regression with the Tanimoto similarity as its kernel, or the mean of it and one of descriptors."""
    spec = SPECS[name]
    index = TanimotoIndex.of(blocks["ecfp"])
    gram, radial = index.similarities(blocks["ecfp"]), None
    if "descriptors" in spec.blocks:
        radial = Radial.of(blocks["descriptors"])
        gram = (gram + radial.similarities(blocks["descriptors"])) / 2
    base = np.array([_prior(column[~np.isnan(column)], kind) for column in y.T])
    dual = fit_ridge(gram, y, base, setting) / (1 if radial is None else 2)
    squashed = kind == "classification"
    return Fitted(name, spec.blocks, None, index=index, dual=dual, radial=radial, base=base, squashed=squashed)
