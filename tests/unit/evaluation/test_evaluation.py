from __future__ import annotations

import importlib
import warnings

import pytest
import torch

from graphmae.config import Evaluation
from graphmae.evaluation import cluster_scores, linear_probes, neighbour_score, score
from graphmae.evaluation.linear_model import STRENGTHS, Logistic, linear_model_score

CPU = torch.device("cpu")


def blobs(seed: int, per_class: int = 20, spread: float = 0.3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(3).repeat_interleave(per_class)
    return torch.eye(3)[y] + spread * torch.randn(len(y), 3, generator=generator), y


def test_accuracy_and_micro_f1() -> None:
    assert float(score(torch.eye(4), torch.arange(4))) == 100
    y = torch.tensor([[1.0, 0, 1], [0, 1, 0]])
    logits = torch.tensor([[1.0, 1, -1], [-1, 1, -1]])  # 2 hits, 3 guesses, 3 truths
    assert float(score(logits, y)) == pytest.approx(100 * 4 / 6)
    from sklearn.metrics import f1_score

    assert float(score(logits, y)) == pytest.approx(100 * f1_score(y, logits > 0, average="micro"))


def test_the_probe_separates_what_is_separable_and_reports_both_rules() -> None:
    scores = linear_probes(blobs(0), blobs(1), blobs(2), 3, Evaluation(lr=0.1, epochs=100), [0], CPU)[0]
    assert scores["last"] > 90
    assert set(scores) == {"last", "best-validation", "validation-last", "validation-best"}
    assert scores["validation-best"] >= scores["validation-last"]


def test_the_probe_cannot_learn_noise() -> None:
    x = torch.randn(300, 3, generator=torch.Generator().manual_seed(0))
    y = torch.arange(300) % 3
    rows = [(x[i::3], y[torch.randperm(100, generator=torch.Generator().manual_seed(i))]) for i in range(3)]
    assert linear_probes(*rows, 3, Evaluation(epochs=50), [0], CPU)[0]["last"] < 55


def test_the_same_seed_gives_the_same_probe() -> None:
    runs = [linear_probes(blobs(0), blobs(1), blobs(2), 3, Evaluation(epochs=5), [7], CPU)[0] for _ in range(2)]
    assert runs[0] == runs[1]


def test_several_labels_a_row() -> None:
    x, y = blobs(0)
    many = torch.eye(3)[y]
    scores = linear_probes((x, many), (x, many), (x, many), 3, Evaluation(lr=0.1, epochs=200), [0], CPU)[0]
    assert scores["last"] > 90
    assert neighbour_score((x, many), (x, many), 3) > 90


def test_label_light_checks() -> None:
    x, y = blobs(0, spread=0.05)
    assert neighbour_score((x, y), blobs(1, spread=0.05), 3) == 100
    found = cluster_scores(x, y, 3, seed=0)
    assert found["nmi"] == pytest.approx(100)
    assert found["ari"] == pytest.approx(100)
    noise = cluster_scores(torch.randn(60, 3), y, 3, seed=0)
    assert noise["ari"] < 30


def test_probes_trained_as_one_batch_are_the_probes_trained_alone() -> None:
    settings = Evaluation(lr=0.05, epochs=20)
    together = linear_probes(blobs(0), blobs(1), blobs(2), 3, settings, [3, 5, 8], CPU)
    alone = [linear_probes(blobs(0), blobs(1), blobs(2), 3, settings, [seed], CPU)[0] for seed in (3, 5, 8)]
    for a, b in zip(together, alone, strict=True):
        assert a == pytest.approx(b, abs=1.0)  # a score may move by a node where logits tie
    assert len({scores["validation-last"] for scores in together}) > 1 or together[0]["last"] == 100


def test_rows_of_several_graphs_take_a_step_for_every_few_of_them() -> None:
    """PPI's published probe steps once per two graphs: ten steps an epoch, not one."""
    seen = []
    module = importlib.import_module("graphmae.evaluation.linear_probe")
    original = module.classification_loss
    try:
        module.classification_loss = lambda logits, y: (seen.append(len(y)), original(logits, y))[1]  # type: ignore[assignment]
        x, y = blobs(0)
        settings = Evaluation(epochs=3, batch_size=2)
        linear_probes((x, y), blobs(1), blobs(2), 3, settings, [0], CPU, sizes=[10, 20, 25, 5])
        assert seen == [30, 30] * 3
        seen.clear()
        linear_probes((x, y), blobs(1), blobs(2), 3, Evaluation(epochs=3), [0], CPU, sizes=[10, 20, 25, 5])
        assert seen == [60] * 3
    finally:
        module.classification_loss = original  # type: ignore[assignment]


def test_the_converged_model_does_not_depend_on_the_scale_of_its_input() -> None:
    """Small features are far from fitted after the probe's steps, and the same to a model that converges."""
    tiny = [(1e-4 * x, y) for x, y in (blobs(0), blobs(1), blobs(2))]
    found, small = linear_model_score(blobs(0), blobs(1), blobs(2)), linear_model_score(*tiny)
    assert found is not None and small is not None
    whole = found["converged"]
    assert whole > 90 and small["converged"] == pytest.approx(whole, abs=1.7)
    few_steps = Evaluation(lr=0.01, epochs=20)
    assert linear_probes(*tiny, 3, few_steps, [0], CPU)[0]["last"] < whole


def test_a_linear_model_on_few_wide_rows_is_the_one_on_all_columns() -> None:
    from sklearn.linear_model import LogisticRegression

    turn = torch.linalg.qr(torch.randn(200, 200, generator=torch.Generator().manual_seed(0)))[0][:3]
    noise = torch.Generator().manual_seed(1)
    rows = [(x @ turn + 0.2 * torch.randn(len(x), 200, generator=noise), y) for x, y in map(blobs, (0, 1, 2))]
    (x, y), val, test = rows
    scale = float(x.double().square().sum(1).mean().sqrt())
    found = []
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=500).fit(x.double() / scale, y)
        found.append([100 * float(model.score(part.double() / scale, labels)) for part, labels in (val, test)])
    best = max(range(len(found)), key=lambda i: found[i][0])
    made = linear_model_score(*rows)
    assert made is not None and [made["validation-converged"], made["converged"]] == pytest.approx(found[best], abs=1.7)


def test_the_converged_model_chooses_on_validation_alone() -> None:
    train, val, test = blobs(0), blobs(1, spread=1.0), blobs(2, spread=1.0)
    wrong = (test[0], (test[1] + 1) % 3)
    right = linear_model_score(train, val, test)
    other = linear_model_score(train, val, wrong)
    assert right is not None and other is not None and right["converged"] > 60 > 40 > other["converged"]
    assert right["validation-converged"] == other["validation-converged"]
    assert linear_model_score((train[0][:20], train[1][:20]), val, test) is None  # one class: nothing to learn


def test_a_regression_that_stops_early_says_nothing() -> None:
    x, y = (part.numpy() for part in blobs(0, spread=3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Logistic(max_iter=1).fit(x, y)
    assert model.n_iter_.tolist() == [1]
