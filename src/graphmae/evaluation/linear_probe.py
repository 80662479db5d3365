"""The linear probe: one linear layer on frozen rows, Adam, full batch, a fixed number of epochs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..runtime.seed import preserved_randomness
from ..training import fit
from .metrics import by_rule, classification_loss, score

Rows = tuple[Tensor, Tensor]  # (features [M, d], labels)


def linear_probe(
    train: Rows, val: Rows, test: Rows, num_classes: int, config: Evaluation, seed: int, device: torch.device
) -> dict[str, float]:
    """Scores by both rules. Runs on its own randomness; nothing outside notices."""
    (x, y), (val_x, val_y), (test_x, test_y) = (
        (features.to(device, torch.float32), labels.to(device)) for features, labels in (train, val, test)
    )
    validation: list[Tensor] = []
    tests: list[Tensor] = []
    with preserved_randomness(seed):
        layer = nn.Linear(x.size(1), num_classes).to(device)

        @torch.no_grad()
        def after_epoch(epoch: int) -> None:
            validation.append(score(layer(val_x), val_y))
            tests.append(score(layer(test_x), test_y))

        fit(
            layer,
            lambda batch: classification_loss(layer(batch), y),
            lambda: [x],
            epochs=config.epochs,
            lr=config.lr,
            weight_decay=config.weight_decay,
            capture=device.type == "cuda",
            after_epoch=after_epoch,
        )
    return by_rule(validation, tests)
