"""Probabilities, intervals, folds and weights, on numbers whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphmae.finetuning.calibration import Conformal, Platt, coverage, expected_calibration_error, logistic, logit
from graphmae.finetuning.folds import grouped_folds, random_folds
from graphmae.finetuning.predictor import Predictor
from graphmae.finetuning.stack import as_logits, choose
from graphmae.runtime.errors import DataError


@pytest.fixture
def random() -> np.random.Generator:
    """A fresh one for every test: what it draws does not depend on which ran before."""
    return np.random.default_rng(0)


def test_probabilities_that_are_too_sure_become_right(random: np.random.Generator) -> None:
    truth = random.normal(size=(4000, 2))
    y = (random.random((4000, 2)) < logistic(truth)).astype(float)
    y[::3, 1] = np.nan
    sure = 3 * truth + 1
    found = Platt.fit(sure[:2000], y[:2000])
    before = expected_calibration_error(logistic(sure[2000:]), y[2000:])
    after = expected_calibration_error(found(sure[2000:]), y[2000:])
    assert before > 15 and after < 4
    assert np.allclose(found.slope, 1 / 3, atol=0.07)


def test_a_member_with_a_few_molecules_is_left_nearly_as_it_is() -> None:
    found = Platt.fit(np.array([[3.0], [-3.0]]), np.array([[1.0], [0.0]]))
    assert 0.5 < found.slope[0] < 2.5 and abs(found.shift[0]) < 0.5
    assert (Platt.fit(np.array([[3.0], [-3.0]] * 50), np.array([[0.0], [1.0]] * 50)).slope > 0).all()  # never reversed


def test_intervals_cover_what_they_promise_and_are_wider_where_models_disagree(random: np.random.Generator) -> None:
    noise = random.choice([0.2, 2.0], size=(3000, 1))
    guess = random.normal(size=(3000, 1))
    y = guess + noise * random.normal(size=(3000, 1))
    y[::9] = np.nan
    found = Conformal.fit(guess[:1500], noise[:1500], y[:1500], 8, 0.9)
    half = found.half_width(noise[1500:])
    inside = coverage(guess[1500:] - half, guess[1500:] + half, y[1500:])
    assert 87 < inside < 93
    assert half[noise[1500:] == 2.0].min() > half[noise[1500:] == 0.2].max()
    alone = Conformal.fit(guess[:1500], np.zeros((1500, 1)), y[:1500], 1, 0.9)  # one model: intervals of one width
    assert np.isfinite(alone.half_width(np.zeros((1, 1)))).all()


def test_two_members_that_happen_to_agree_do_not_narrow_an_interval(random: np.random.Generator) -> None:
    y = random.normal(size=(3000, 1))
    both = y + random.normal(size=(2, 3000, 1))
    guess, spread = both.mean(axis=0), both.std(axis=0)
    half = Conformal.fit(guess[:1500], spread[:1500], y[:1500], 2, 0.9).half_width(spread[1500:])
    agree = spread[1500:] < np.quantile(spread, 0.2)
    off = np.abs(guess - y)[1500:]
    assert half.max() < 2 * half.min() and spread.max() > 20 * np.quantile(spread, 0.1)
    assert (off <= half)[agree].mean() > 0.85, "their error has nothing to do with their spread"


def test_folds_keep_scaffolds_together_and_have_both_classes(random: np.random.Generator) -> None:
    groups = random.integers(0, 60, 400)
    y = (random.random((400, 1)) < 0.1).astype(float)
    folds = grouped_folds(groups, 4, seed=0, y=y)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups.tolist()))
    sizes, ones = np.bincount(folds), np.bincount(folds, y[:, 0])
    assert sizes.min() > 60 and ones.min() >= 5
    assert np.bincount(random_folds(10, 4, seed=0)).tolist() == [3, 3, 2, 2]
    with pytest.raises(DataError, match="only 2 different scaffolds"):
        grouped_folds(np.array([0, 0, 1]), 3, seed=0)


def test_good_members_are_averaged_and_a_useless_one_is_left_out(random: np.random.Generator) -> None:
    y = (random.random((1000, 1)) < 0.5).astype(float)
    signal = 2 * y - 1
    guesses = {f"good-{i}": logistic(signal + 1.5 * random.normal(size=y.shape)) for i in range(3)}
    guesses["noise"] = random.random(y.shape)
    logits, platts = as_logits(guesses, y)
    found = choose(logits, y, random_folds(1000, 4, seed=0), "classification")
    assert set(found.weights) >= {"good-0", "good-1", "good-2"} and found.weights.get("noise", 0.0) < 0.1
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.inner > max(found.scores.values()) + 3
    assert set(platts) == set(guesses) and found.scores["noise"] < 55


def test_a_costly_member_must_be_worth_it(random: np.random.Generator) -> None:
    y = random.normal(size=(800, 1))
    folds = random_folds(800, 4, seed=0)
    guesses = {f"cheap-{i}": y + 0.5 * random.normal(size=y.shape) for i in range(3)}
    poor = {**guesses, "costly": 0.5 * (guesses["cheap-0"] + guesses["cheap-1"]) + 0.1 * random.normal(size=y.shape)}
    good = {**guesses, "costly": y + 0.1 * random.normal(size=y.shape)}
    assert "costly" in choose(poor, y, folds, "regression").weights
    left_out = choose(poor, y, folds, "regression", costly=["costly"])
    assert "costly" not in left_out.weights and "costly" in left_out.scores
    assert "costly" in choose(good, y, folds, "regression", costly=["costly"]).weights
    assert set(choose(poor, y, folds, "regression", costly=list(poor)).weights) <= set(poor)


def test_one_member_far_better_than_the_others_stays_alone(random: np.random.Generator) -> None:
    y = random.normal(size=(600, 1))
    guesses = {"exact": y + 0.01 * random.normal(size=y.shape)}
    guesses |= {f"bad-{i}": random.normal(size=y.shape) for i in range(2)}
    found = choose(guesses, y, random_folds(600, 4, seed=0), "regression")
    assert found.weights["exact"] > 0.95
    assert found.scores["exact"] < 0.02 < found.scores["bad-0"]


def test_better_members_count_more_and_the_others_still_count(random: np.random.Generator) -> None:
    y = random.normal(size=(800, 1))
    errors = {"best": 0.5, "good": 0.7, "fair": 0.9}
    guesses = {name: y + error * random.normal(size=y.shape) for name, error in errors.items()}
    found = choose(guesses, y, random_folds(800, 4, seed=0), "regression").weights
    assert found["best"] > found["good"] > found["fair"] > 0.1


def test_members_that_are_all_without_a_mistake_share_the_weight(random: np.random.Generator) -> None:
    y = (random.random((400, 1)) < 0.5).astype(float)
    guesses = {f"perfect-{i}": 4 * y - 2 + random.uniform(-1, 1, size=y.shape) for i in range(4)}
    found = choose(guesses, y, random_folds(400, 4, seed=0), "classification").weights
    assert set(found) == set(guesses) and max(found.values()) < 0.3


def test_a_fold_with_one_class_alone_has_no_say() -> None:
    y = np.array([[1.0]] * 40 + [[0.0], [1.0]] * 60)
    folds = np.repeat([0, 1, 2, 3], 40)
    random = np.random.default_rng(1)
    guesses = {name: y + random.normal(size=y.shape) for name in ("a", "b")}
    found = choose(guesses, y, folds, "classification")
    assert sum(found.weights.values()) == pytest.approx(1) and np.isfinite(found.inner)


@pytest.mark.parametrize("balance", [False, True])
def test_weighing_the_rarer_class_does_not_shift_probabilities(balance: bool) -> None:
    """Trained with class 1 counted nine times, the mean probability is still that of class 1."""
    torch.manual_seed(0)
    y = torch.zeros(500, 1)
    y[:50] = 1
    encoder = torch.nn.Identity()
    encoder.out_channels = 1
    predictor = Predictor(encoder, ["active"])
    predictor.fit_scale(y, balance)
    assert float(predictor.balance) == (9.0 if balance else 1.0)
    optimizer = torch.optim.LBFGS(predictor.head.parameters(), max_iter=100)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = predictor.loss(predictor.head(torch.zeros(500, 1)), y)
        loss.backward()
        return loss

    optimizer.step(step)
    raw = predictor.answer(predictor.head(torch.zeros(1, 1))).item()
    predictor.undo_balance()
    assert predictor.answer(predictor.head(torch.zeros(1, 1))).item() == pytest.approx(0.1, abs=0.01)
    assert raw == pytest.approx(0.5 if balance else 0.1, abs=0.01)


def test_logits_are_bounded() -> None:
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
