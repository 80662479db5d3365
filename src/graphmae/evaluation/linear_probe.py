"""The linear probe: one linear layer on frozen rows, Adam, full batch, a fixed number of epochs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..runtime.seed import preserved_randomness
from ..training import fit
from .metrics import by_rule, classification_loss, score

Rows = tuple[Tensor, Tensor]  # (features [M, d], labels)


class _Layers(nn.Module):
    """Linear layers side by side: `x` [N, d] → [S, N, classes], one a seed, each initialised from its own."""

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
    train: Rows, val: Rows, test: Rows, num_classes: int, config: Evaluation, seeds: Sequence[int], device: torch.device
) -> list[dict[str, float]]:
    """Scores by both rules, one probe a seed, all trained as one batch: their gradients do not touch.

    Runs on its own randomness; nothing outside notices.
    """
    (x, y), (val_x, val_y), (test_x, test_y) = (
        (features.to(device, torch.float32), labels.to(device)) for features, labels in (train, val, test)
    )
    validation: list[Tensor] = []
    tests: list[Tensor] = []
    layers = _Layers(x.size(1), num_classes, seeds).to(device)

    @torch.no_grad()
    def after_epoch(epoch: int) -> None:
        validation.append(torch.stack([score(logits, val_y) for logits in layers(val_x)]))
        tests.append(torch.stack([score(logits, test_y) for logits in layers(test_x)]))

    with preserved_randomness():
        fit(
            layers,
            lambda batch: torch.stack([classification_loss(logits, y) for logits in layers(batch)]).sum(),
            lambda: [x],
            epochs=config.epochs,
            lr=config.lr,
            weight_decay=config.weight_decay,
            capture=device.type == "cuda",
            after_epoch=after_epoch,
        )
    return [by_rule([v[s] for v in validation], [t[s] for t in tests]) for s in range(len(seeds))]


def linear_probe(
    train: Rows, val: Rows, test: Rows, num_classes: int, config: Evaluation, seed: int, device: torch.device
) -> dict[str, float]:
    """The scores of one probe."""
    return linear_probes(train, val, test, num_classes, config, [seed], device)[0]
