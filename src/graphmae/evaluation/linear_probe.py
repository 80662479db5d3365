"""The linear probe: one linear layer on frozen rows, Adam, full batch, a fixed number of epochs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..runtime.seed import preserved_randomness
from ..training import CapturedStep, Trainer, make_optimizer
from .metrics import by_rule, classification_loss, score

Rows = tuple[Tensor, Tensor]  # (features [M, d], labels)


class _Layers(nn.Module):
    """Linear layers side by side: `x` [N, d] → [S, N, classes], one per seed, each initialised from its own."""

    def __init__(self, in_channels: int, num_classes: int, seeds: Sequence[int]) -> None:
        super().__init__()
        made = []
        for seed in seeds:
            with preserved_randomness(seed):
                made.append(nn.Linear(in_channels, num_classes))
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in made]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in made]))

    def forward(self, x: Tensor) -> Tensor:
        classes = self.bias.size(1)
        out = torch.addmm(self.bias.flatten(), x, self.weight.flatten(0, 1).t())
        return out.view(len(x), -1, classes).transpose(0, 1)


def linear_probes(
    train: Rows,
    val: Rows,
    test: Rows,
    num_classes: int,
    config: Evaluation,
    seeds: Sequence[int],
    device: torch.device,
    sizes: Sequence[int] = (),
) -> list[dict[str, float]]:
    """Scores by both rules, one probe per seed, all trained as one batch: their gradients do not touch.

    Every epoch is one step on all rows; where the training rows are those of several graphs of `sizes`, a step for
    every `config.batch_size` graphs. Runs on its own randomness; nothing outside notices.
    """
    (x, y), (val_x, val_y), (test_x, test_y) = (
        (features.to(device, torch.float32), labels.to(device)) for features, labels in (train, val, test)
    )
    validation: list[Tensor] = []
    tests: list[Tensor] = []
    layers = _Layers(x.size(1), num_classes, seeds).to(device)

    @torch.no_grad()
    def after_epoch(epoch: int) -> None:
        validation.append(score(layers(val_x), val_y))
        tests.append(score(layers(test_x), test_y))

    def loss(layers: _Layers, batch: Rows) -> Tensor:
        features, labels = batch
        logits, repeats = layers(features), [len(seeds), *[1] * (labels.dim() - 1)]
        return len(seeds) * classification_loss(logits.flatten(0, 1), labels.repeat(repeats))

    batches = [(x, y)]
    if config.batch_size and sizes:
        steps = [sum(sizes[at : at + config.batch_size]) for at in range(0, len(sizes), config.batch_size)]
        batches = list(zip(x.split(steps), y.split(steps), strict=True))
    optimizer = make_optimizer(layers, config.lr, config.weight_decay)
    trainer = Trainer(layers, loss, optimizer, after_epoch=[after_epoch])
    if device.type == "cuda" and len(batches) == 1:
        trainer.record = CapturedStep
    with preserved_randomness():
        trainer.fit(batches, config.epochs * len(batches))
    return [by_rule([v[s] for v in validation], [t[s] for t in tests]) for s in range(len(seeds))]
