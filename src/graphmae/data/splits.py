"""A split for labelled graphs that come without one."""

from __future__ import annotations

import logging
from dataclasses import replace

import torch
from torch import Tensor

from .dataset import Dataset
from .nodes import NodeDataset

logger = logging.getLogger("graphmae")


def with_split(dataset: Dataset) -> Dataset:
    """The data set itself, or with a random split where its nodes have labels and no masks, or a train mask alone."""
    if not isinstance(dataset, NodeDataset) or len(dataset.graphs) != 1 or "y" not in dataset.graphs[0]:
        return dataset
    y = dataset.graphs[0].y
    if not dataset.splits:
        return replace(dataset, splits=_as_splits(stratified_split(y)))
    if dataset.splits.keys() != {"train"}:
        return dataset
    logger.warning(
        "%s has a train_mask alone: of the other nodes, a random ninth validates and the rest tests", dataset.name
    )
    first, *others = [_rest_split(y, each.splits["train"][0][1]) for each in dataset.each_split()]
    return replace(dataset, splits=first, further_splits=tuple(others))


def _rest_split(y: Tensor, train: Tensor) -> dict[str, tuple[tuple[int, Tensor], ...]]:
    masks = stratified_split(y, 0.0, 1 / 9, known=~train)
    return _as_splits({**masks, "train": train})


def _as_splits(masks: dict[str, Tensor]) -> dict[str, tuple[tuple[int, Tensor], ...]]:
    return {split: ((0, mask),) for split, mask in masks.items()}


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
        first = max(1, round(train * len(group))) if train else 0
        second = first + max(1, round(val * len(group)))
        masks["train"][group[:first]] = True
        masks["val"][group[first:second]] = True
        masks["test"][group[second:]] = True
    return masks
