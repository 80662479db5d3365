"""A split for labelled graphs that come without one."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from .dataset import Dataset
from .nodes import NodeDataset


def with_split(dataset: Dataset) -> Dataset:
    """The data set itself, or with a random split where its nodes have labels and no masks."""
    if (
        not isinstance(dataset, NodeDataset)
        or dataset.splits
        or len(dataset.graphs) != 1
        or "y" not in dataset.graphs[0]
    ):
        return dataset
    masks = stratified_split(dataset.graphs[0].y)
    return replace(dataset, splits={split: ((0, mask),) for split, mask in masks.items()})


def stratified_split(
    y: Tensor, train: float = 0.1, val: float = 0.1, seed: int = 0, known: Tensor | None = None
) -> dict[str, Tensor]:
    """Random masks with these shares of every class (of all nodes, for label matrices); the rest is the test split.

    Nodes whose label is not `known` are in none.

    >>> {split: int(mask.sum()) for split, mask in stratified_split(torch.zeros(100, dtype=torch.long)).items()}
    {'train': 10, 'val': 10, 'test': 80}
    """
    generator = torch.Generator().manual_seed(seed)
    masks = {split: torch.zeros(len(y), dtype=torch.bool) for split in ("train", "val", "test")}
    groups = [(y == c).nonzero().flatten() for c in y.unique()] if y.dim() == 1 else [torch.arange(len(y))]
    for group in groups:
        group = group if known is None else group[known[group]]
        if not len(group):
            continue
        group = group[torch.randperm(len(group), generator=generator)]
        first = max(1, round(train * len(group)))
        second = first + max(1, round(val * len(group)))
        masks["train"][group[:first]] = True
        masks["val"][group[first:second]] = True
        masks["test"][group[second:]] = True
    return masks
