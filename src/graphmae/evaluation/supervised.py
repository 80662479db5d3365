"""The same encoder trained with labels from the start: what pre-training has to compare with."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from ..config import Evaluation
from ..data import NodeDataset
from ..runtime.seed import preserved_randomness
from ..training import fit
from .metrics import by_rule, classification_loss, score

EVALUATE_EVERY = 5


def supervised_scores(
    encoder: nn.Module, dataset: NodeDataset, config: Evaluation, seed: int, device: torch.device
) -> dict[str, float]:
    """Train `encoder` with a linear head on the training labels, in place; scores by both rules."""
    graphs = [Data(x=g.x, edge_index=g.edge_index, y=g.y).to(device) for g in dataset.graphs]
    training = [(graphs[i], mask.to(device)) for i, mask in dataset.splits["train"]]
    validation: list[Tensor] = []
    tests: list[Tensor] = []
    with preserved_randomness(seed):
        head = nn.Linear(int(encoder.out_channels), dataset.num_classes)  # type: ignore[arg-type]
        module = nn.ModuleList([encoder, head]).to(device)

        def step(batch: tuple[Data, Tensor]) -> Tensor:
            graph, mask = batch
            return classification_loss(head(encoder(graph.x, graph.edge_index)[mask]), graph.y[mask])

        @torch.no_grad()
        def after_epoch(epoch: int) -> None:
            if epoch % EVALUATE_EVERY and epoch != config.supervised_epochs:
                return
            module.eval()
            needed = {i for split in ("val", "test") for i, _ in dataset.splits[split]}
            logits = [head(encoder(g.x, g.edge_index)) if i in needed else g.x for i, g in enumerate(graphs)]
            validation.append(score(*dataset.gather(logits, "val")))
            tests.append(score(*dataset.gather(logits, "test")))

        fit(
            module,
            step,
            lambda: training,
            epochs=config.supervised_epochs,
            lr=config.supervised_lr,
            weight_decay=config.supervised_weight_decay,
            after_epoch=after_epoch,
        )
    return by_rule(validation, tests)
