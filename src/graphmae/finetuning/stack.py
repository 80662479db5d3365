"""Which members a predictor is made of, decided by predictions for molecules they had not seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from ..evaluation.metrics import regression_errors, roc_auc
from .calibration import Platt, logit

SURE = 2.0  # standard errors over the folds by which something must be better to be called so
LEAST = 0.02  # a smaller weight is not worth asking the member
ROUNDS = 20  # of adding a member to weights that are chosen greedily


def score(guess: np.ndarray, y: np.ndarray, kind: str) -> float:
    """The mean over targets of ROC-AUC in percent, or of the root mean squared error with a minus: higher is better."""
    a, b = torch.from_numpy(np.asarray(guess, dtype=np.float64)), torch.from_numpy(np.asarray(y, dtype=np.float64))
    if kind == "classification":
        return float(roc_auc(a, b).nanmean())
    return -float(regression_errors(a, b)[0])


@dataclass(frozen=True)
class Choice:
    """How members are weighed.

    Attributes:
        weights: member → share; they add up to 1.
        way: "single" or "weighted".
        scores: member → inner score, in the metric's own direction.
        inner: the inner score of the choice.
        tried: the inner score of the best member alone, of the plain average, and of the weights.
    """

    weights: dict[str, float]
    way: str
    scores: dict[str, float]
    inner: float
    tried: dict[str, float] = field(default_factory=dict)


def combined(guesses: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """[n, T] the weighted mean, of classes that of logits."""
    return np.asarray(sum(weight * guesses[name] for name, weight in weights.items()))


def spread_of(guesses: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """[n, T] the weighted deviation of the members around their mean; 0 for a single one."""
    middle = combined(guesses, weights)
    return np.sqrt(np.asarray(sum(weight * (guesses[name] - middle) ** 2 for name, weight in weights.items())))


def effective(weights: Mapping[str, float]) -> float:
    """How many members the weights are worth: their number where all are alike, nearly 1 where one has nearly all.

    >>> effective({"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}), effective({"a": 1.0})
    (4.0, 1.0)
    """
    return 1 / sum(weight**2 for weight in weights.values())


def choose(
    guesses: Mapping[str, np.ndarray], y: np.ndarray, folds: np.ndarray, kind: str, costly: Collection[str] = ()
) -> Choice:
    """Weigh members by their out-of-fold predictions: `guesses` name → [n, T] logits or numbers.

    Members that are `costly` to ask are used only if that is better than without them by more than two standard errors
    over the folds.
    """
    found = _choose(guesses, y, folds, kind)
    others = {name: guess for name, guess in guesses.items() if name not in costly}
    if not others or not set(costly) & set(found.weights):
        return found
    without = _choose(others, y, folds, kind)
    gain = _gain(combined(guesses, found.weights), combined(guesses, without.weights), y, folds, kind)
    return found if _is_sure(gain) else replace(without, scores=found.scores)


def _choose(guesses: Mapping[str, np.ndarray], y: np.ndarray, folds: np.ndarray, kind: str) -> Choice:
    """The same whatever members cost.

    Half of the weight is shared by the best members alike: as many of them as are not worse together than the best
    average by more than one standard error over the folds. The other half is the mean of weights that were chosen
    greedily for each fold, and for all folds but each. Members that are not sure to say more than the mean of the
    training part are left out.
    """
    alone = {name: score(guess, y, kind) for name, guess in guesses.items()}
    order = sorted(alone, key=lambda name: -alone[name])
    # What says no more than the mean of the training part would ride along in an average of all: calibrated it changes
    # nothing, and so costs nothing.
    nothing = np.broadcast_to(np.nan_to_num(np.nanmean(y, axis=0)), y.shape)
    gains = {name: _gain(guesses[name], nothing, y, folds, kind) for name in order[1:]}
    order = [order[0], *(name for name, gain in gains.items() if _is_sure(gain) or np.isinf(gain[1]))]
    shared, chosen = _shared(guesses, y, folds, kind, order), _bagged(guesses, y, folds, kind, order)
    weights = {name: (shared.get(name, 0.0) + chosen.get(name, 0.0)) / 2 for name in order}
    weights = {name: weight for name, weight in weights.items() if weight > LEAST}
    whole = sum(weights.values())
    weights = {name: weight / whole for name, weight in weights.items()}
    tried = {"single": alone[order[0]], "average": score(combined(guesses, shared), y, kind)}
    inner = score(combined(guesses, weights), y, kind)
    sign = 1 if kind == "classification" else -1
    return Choice(
        weights, "single" if len(weights) == 1 else "weighted", {name: sign * value for name, value in alone.items()},
        sign * inner, {name: sign * value for name, value in (tried | {"weighted": inner}).items()},
    )  # fmt: skip


def _shared(
    guesses: Mapping[str, np.ndarray], y: np.ndarray, folds: np.ndarray, kind: str, order: Sequence[str]
) -> dict[str, float]:
    """Equal weights of the first members of `order`."""
    averages = {count: combined(guesses, dict.fromkeys(order[:count], 1 / count)) for count in range(1, len(order) + 1)}
    scored = {count: score(guess, y, kind) for count, guess in averages.items()}
    best = max(scored, key=lambda count: scored[count])
    # More members are safer on molecules that are unlike these: the most that are not clearly worse.
    for count in range(len(order), best, -1):
        loss, error = _gain(averages[best], averages[count], y, folds, kind)
        if loss <= error:
            best = count
            break
    return dict.fromkeys(order[:best], 1 / best)


def _bagged(
    guesses: Mapping[str, np.ndarray], y: np.ndarray, folds: np.ndarray, kind: str, order: Sequence[str]
) -> dict[str, float]:
    """The mean of greedy weights over parts of the molecules: what one part prefers by chance counts little."""
    own = [folds == fold for fold in np.unique(folds)]
    found = []
    for part in [*own, *(~one for one in own if not one.all())]:
        some = {name: guesses[name][part] for name in order}
        if np.isfinite(score(some[order[0]], y[part], kind)):  # not where a part has one class alone
            found.append(_greedy(some, y[part], kind, order))
    found = found or [{order[0]: 1.0}]
    return {name: sum(one.get(name, 0.0) for one in found) / len(found) for name in order}


def _is_sure(gain: tuple[float, float]) -> bool:
    return gain[0] > SURE * gain[1]


def _gain(a: np.ndarray, b: np.ndarray, y: np.ndarray, folds: np.ndarray, kind: str) -> tuple[float, float]:
    """(how much better `a` is than `b`, the standard error of that over the folds)."""
    parts = [folds == fold for fold in np.unique(folds)]
    gains = np.array([score(a[part], y[part], kind) - score(b[part], y[part], kind) for part in parts])
    gains = gains[np.isfinite(gains)]
    if len(gains) < 2:
        return 0.0, np.inf
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _greedy(guesses: Mapping[str, np.ndarray], y: np.ndarray, kind: str, order: Sequence[str]) -> dict[str, float]:
    """Weights that are never negative: members are added one at a time, again and again (Caruana et al. 2004)."""
    counts = dict.fromkeys(order, 0)
    counts[order[0]], total = 1, guesses[order[0]].copy()
    best, kept = score(total, y, kind), dict(counts)
    for added in range(2, ROUNDS + 1):
        scored = {name: score((total + guesses[name]) / added, y, kind) for name in order}
        highest = max(scored.values())
        # Of equals, as all are where a fold is told apart without a mistake, the one that counts least so far.
        name = min((name for name in order if scored[name] == highest), key=lambda name: counts[name])
        counts[name] += 1
        total = total + guesses[name]
        if highest >= best:
            best, kept = scored[name], dict(counts)
    whole = sum(kept.values())
    return {name: count / whole for name, count in kept.items() if count}


def as_logits(guesses: Mapping[str, np.ndarray], y: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Platt]]:
    """Probabilities of members as calibrated logits, so that they can be averaged; and the calibrations."""
    platts = {name: Platt.fit(logit(guess), y) for name, guess in guesses.items()}
    return {name: platts[name].logits(logit(guess)) for name, guess in guesses.items()}, platts
