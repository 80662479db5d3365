"""Encoders trained with labels from the start: what pre-training has to compare with.

`supervised_scores` trains the very encoder that was pre-trained. `run_supervised` is an experiment of its own, a recipe
with a [supervised] section: a published architecture with its own settings, candidates chosen on validation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold, train_test_split
from torch import Tensor, nn

from .. import decoders, encoders, kernels
from ..batching import Batch, GraphStore, Shuffled
from ..config import Evaluation, Recipe, Supervised
from ..data import GraphSet, NodeDataset
from ..runtime.environment import peak_bytes
from ..runtime.seed import preserved_randomness
from ..training import CapturedBatches, CapturedStep, Trainer, make_optimizer
from .metrics import by_rule, classification_loss, score
from .svm import FOLDS

EVALUATE_EVERY = 5
AT_ONCE = 512
VALIDATION = 0.1  # of a fold's training part
Scores = dict[str, float]


class Labelled(NamedTuple):
    """A graph on the device it is trained on."""

    x: Tensor
    edges: Tensor | kernels.Adjacency
    y: Tensor


class NodeClassifier(nn.Module):
    """An encoder and an output layer: a decoder with one channel for each class, or a linear map."""

    def __init__(self, encoder: nn.Module, num_classes: int, output: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = output or nn.Linear(int(encoder.out_channels), num_classes)  # type: ignore[arg-type]

    def forward(self, x: Tensor, edges: Tensor | kernels.Adjacency) -> Tensor:
        """[N, classes]."""
        codes = kernels.encode(self.encoder, x, edges)
        if isinstance(self.output, nn.Linear):
            return self.output(codes)
        return self.output(codes, kernels.taken_by(self.output, edges), None)


class GraphClassifier(nn.Module):
    """An encoder, a readout, and a linear map with dropout before it."""

    def __init__(self, encoder: nn.Module, num_classes: int, readout: str, dropout: float) -> None:
        super().__init__()
        self.encoder, self.ways, self.dropout = encoder, readout.split("+"), dropout
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.head = nn.Linear(width * len(self.ways), num_classes)

    def forward(self, batch: Batch) -> Tensor:
        """[B, classes]."""
        codes, ptr = kernels.encode(self.encoder, batch.x, batch.edges(self.encoder)), batch.pointer
        pooled = torch.cat([kernels.pool(codes, ptr, way) for way in self.ways], dim=1)
        return self.head(nn.functional.dropout(pooled, self.dropout, self.training))


def supervised_scores(
    encoder: nn.Module, dataset: NodeDataset, config: Evaluation, seed: int, device: torch.device
) -> Scores:
    """Train `encoder` with a linear head on the training labels, in place; scores by both rules."""
    with preserved_randomness(seed):
        module = NodeClassifier(encoder, dataset.num_classes)
        settings = config.supervised_epochs, config.supervised_lr, config.supervised_weight_decay
        return _train_nodes(module, dataset, *settings, device)


def _train_nodes(
    module: NodeClassifier, dataset: NodeDataset, epochs: int, lr: float, weight_decay: float, device: torch.device
) -> Scores:
    graphs = [Labelled(g.x.to(device), kernels.edges_of(g, device), g.y.to(device)) for g in dataset.graphs]
    training = [(graphs[i], mask.to(device).nonzero().flatten()) for i, mask in dataset.splits["train"]]
    evaluated = [
        i for i in range(len(graphs)) if any(i == j for part in ("val", "test") for j, _ in dataset.splits[part])
    ]
    module.to(device)
    validation: list[Tensor] = []
    tests: list[Tensor] = []

    def loss(module: NodeClassifier, batch: tuple[Labelled, Tensor]) -> Tensor:
        graph, nodes = batch
        logits = module(graph.x, graph.edges).index_select(0, nodes)
        return classification_loss(logits, graph.y.index_select(0, nodes))

    @torch.no_grad()
    def after_epoch(epoch: int) -> None:
        if epoch % EVALUATE_EVERY and epoch != epochs:
            return
        module.eval()
        logits = [g.x for g in graphs]
        for i in evaluated:
            logits[i] = module(graphs[i].x, graphs[i].edges)
        validation.append(score(*dataset.gather(logits, "val")))
        tests.append(score(*dataset.gather(logits, "test")))

    trainer = Trainer(module, loss, make_optimizer(module, lr, weight_decay), after_epoch=[after_epoch])
    if device.type == "cuda" and kernels.has("cuda") and len(training) == 1:
        trainer.record = CapturedStep
    trainer.fit(training, epochs * len(training))
    return by_rule(validation, tests)


def run_supervised(
    recipe: Recipe,
    dataset: Any,
    seed: int,
    device: torch.device,
) -> dict[str, Any]:
    """One seed: every candidate is trained, the one with the best validation score is reported."""
    began = time.monotonic()
    if dataset.task == "graph":
        found = _fold_scores(recipe, dataset, seed, device)
    else:
        tried = [(_one_candidate(made, dataset, seed, device), text) for made, text in _candidates(recipe)]
        best, text = max(tried, key=lambda pair: pair[0]["validation-best"])
        found = {"rows": {"supervised": best}, "chosen": text, "tried": {text: scores for scores, text in tried}}
    return {
        "seed": seed,
        "seconds": time.monotonic() - began,
        "pretrain_seconds": 0.0,
        "peak_bytes": peak_bytes(str(device)),
        "loss": None,
        **found,
    }


def _candidates(recipe: Recipe) -> Iterator[tuple[Recipe, str]]:
    assert recipe.supervised is not None
    for text in recipe.supervised.candidates:
        yield recipe.override(*text.split()), text or "as published"


def _one_candidate(recipe: Recipe, dataset: NodeDataset, seed: int, device: torch.device) -> Scores:
    settings = recipe.supervised
    assert settings is not None and recipe.decoder is not None
    with preserved_randomness(seed):
        name, options = recipe.encoder.name, recipe.encoder.options
        encoder = encoders.build_for(name, options, dataset.in_channels, dataset.edge_channels)
        output = decoders.build(
            recipe.decoder.name, in_channels=encoder.out_channels, out_channels=dataset.num_classes,
            **recipe.decoder.options,
        )  # fmt: skip
        module = NodeClassifier(encoder, dataset.num_classes, output)
        return _train_nodes(module, dataset, settings.epochs, settings.lr, settings.weight_decay, device)


def _fold_scores(recipe: Recipe, dataset: GraphSet, seed: int, device: torch.device) -> dict[str, Any]:
    """Ten folds, those of the support vector machine; 10 % of each training part is for validation.

    Differs: the published numbers take the epoch that is best on the test folds.
    """
    assert dataset.y is not None
    labels = dataset.y.numpy()
    store, targets = GraphStore(dataset, device), dataset.y.to(device)
    last, best, validation, chosen = [], [], [], []
    for number, (train, test) in enumerate(
        StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels)
    ):
        fitted, held = train_test_split(train, test_size=VALIDATION, random_state=seed, stratify=labels[train])
        tried = []
        for made, text in _candidates(recipe):
            assert made.supervised is not None
            with preserved_randomness(FOLDS * seed + number):
                encoder = encoders.build(made.encoder.name, in_channels=dataset.in_channels, **made.encoder.options)
                classes, settings = int(targets.max()) + 1, made.supervised
                module = GraphClassifier(encoder, classes, settings.readout, settings.dropout)
                scores = _train_graphs(module, store, targets, (fitted, held, test), settings, device)
            tried.append((scores, text))
        scores, text = max(tried, key=lambda pair: pair[0]["validation-best"])
        last.append(scores["last"])
        best.append(scores["best-validation"])
        validation.append(scores["validation-best"])
        chosen.append(text)
    rows = {"last": float(np.mean(last)), "best-validation": float(np.mean(best))}
    folds = {"last-test": last, "best-validation-test": best, "validation": validation, "chosen": chosen}
    return {"rows": {"supervised": rows}, "folds": {"supervised": folds}}


def _train_graphs(
    module: GraphClassifier,
    store: GraphStore,
    targets: Tensor,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    settings: Supervised,
    device: torch.device,
) -> Scores:
    train, held, test = (torch.from_numpy(part) for part in parts)
    module.to(device)
    validation: list[Tensor] = []
    tests: list[Tensor] = []
    ids = torch.cat([held, test])
    batches = [store.take(some) for some in ids.split(AT_ONCE)]
    truth = targets[ids.to(device)]

    def loss(module: GraphClassifier, batch: Batch) -> Tensor:
        assert batch.ids is not None
        return classification_loss(module(batch), targets.index_select(0, batch.ids))

    @torch.no_grad()
    def after_epoch(epoch: int) -> None:
        module.eval()
        logits = torch.cat([module(batch) for batch in batches])
        validation.append(score(logits[: len(held)], truth[: len(held)]))
        tests.append(score(logits[len(held) :], truth[len(held) :]))

    optimizer = make_optimizer(module, settings.lr, settings.weight_decay)
    trainer = Trainer(module, loss, optimizer, after_epoch=[after_epoch])
    shuffled = Shuffled(train, settings.batch_size, store.take, pairs=True)
    if device.type == "cuda" and kernels.has("cuda") and getattr(module.encoder, "records_steps", False):
        trainer.record, shuffled.take = partial(CapturedBatches, store=store), None
    trainer.fit(shuffled, settings.epochs * len(shuffled))
    return by_rule(validation, tests)
