"""Whether a training fits into memory, told before anything large is allocated."""

from __future__ import annotations

from typing import Any

import torch

from .. import methods
from ..config import Recipe
from ..encoders import Views
from ..runtime.environment import free_bytes
from ..runtime.errors import InputError
from ..training.sampled import DEEP, FANOUTS

COPIES = 4  # of the weights: themselves, their gradients, and two moments of Adam


def check_memory(dataset: Any, recipe: Recipe, device: torch.device, jobs: int = 1) -> None:
    """Refuse a training, or `jobs` of them at a time, that needs more memory than there is, with what would help."""
    weights, step = jobs * weight_bytes(dataset, recipe), jobs * step_bytes(dataset, recipe)
    needed, free = weights + step, free_bytes(str(device))
    if not free or needed <= free:
        return
    hidden = int(recipe.encoder.options.get("hidden_channels", 256))
    narrower = f"a narrower encoder (--set encoder.hidden_channels={_narrower(hidden, needed / free)})"
    if jobs > 1 and needed // jobs <= free:
        advice = f"run fewer seeds at a time (--jobs {max(1, jobs * free // needed)})"
    elif weights > step:
        advice = f"most of it are weights with their gradients and Adam's moments: take {narrower}"
    elif dataset.task != "node":
        section, size = _batch_size(recipe)
        smaller = max(1, int(size * free / needed / 2))
        advice = f"take smaller batches (--set {section}.batch_size={smaller}) or {narrower}"
    elif recipe.train.sampler:
        advice = f"take smaller batches (--set train.batch_size={max(2, recipe.train.batch_size // 4)}) or {narrower}"
    elif dataset.on_disk:
        advice = (
            f"train it by mini-batches (--set train.sampler=neighbour --set train.batch_size=512) or take {narrower}"
        )
    elif len(dataset.pretrain_graphs()) == 1:
        parts = -(-needed * 2 // free) * recipe.train.parts
        advice = f"train it in parts (--set train.parts={parts}) or take {narrower}"
    else:
        advice = f"take {narrower}"
    raise InputError(
        f"training {dataset.name} at once needs about {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; "
        + advice
    )


def weight_bytes(dataset: Any, recipe: Recipe) -> int:
    """Weights, gradients, Adam's moments, and the largest tensor once more: a gradient is made before it is added up,
    and saving takes one tensor at a time."""
    wide = dataset.in_channels
    targets = dataset.target_channels
    if recipe.embedding.views:
        wide = targets = Views.input_channels(dataset.in_channels, recipe.embedding.width)
    with torch.device("meta"):  # shapes alone: nothing is allocated
        model = methods.build(recipe, wide, targets)
    sizes = [weight.numel() * weight.element_size() for weight in model.parameters()]
    return COPIES * sum(sizes) + max(sizes, default=0)


def step_bytes(dataset: Any, recipe: Recipe) -> int:
    """A rough upper estimate of what a step holds: activations, their gradients, features, edges."""
    nodes, edges = _size_of_batch(dataset, recipe)
    hidden = int(recipe.encoder.options.get("hidden_channels", 256)) * int(recipe.encoder.options.get("num_layers", 2))
    heads = int(recipe.encoder.options.get("heads", 1))
    wide = min(dataset.in_channels, recipe.embedding.width) if recipe.embedding.views else dataset.in_channels
    return int(4 * (nodes * (4 * hidden + 3 * wide) + edges * (8 + 6 * heads)))


def _size_of_batch(dataset: Any, recipe: Recipe) -> tuple[float, float]:
    """Nodes and edges of a step: of the largest graph, of a part of it, or of a batch of average graphs."""
    if recipe.train.sampler:
        return _size_of_sample(dataset, recipe)
    if dataset.on_disk:
        facts = dict(dataset.summary())
        return facts["nodes"] / recipe.train.parts, facts["edges"] / recipe.train.parts
    if graphs := dataset.pretrain_graphs():
        parts = recipe.train.parts
        return (
            max(int(graph.x.size(0)) for graph in graphs) / parts,
            max(int(graph.edge_index.size(1)) for graph in graphs) / parts,
        )
    facts = dict(dataset.summary())
    share = min(1.0, _batch_size(recipe)[1] / max(facts["graphs"], 1))
    return facts["nodes"] * share, facts["edges"] * share


def _size_of_sample(dataset: Any, recipe: Recipe) -> tuple[float, float]:
    """Of a sampled batch, and of those that are prepared meanwhile, which have no gradients."""
    facts, train = dict(dataset.summary()), recipe.train
    if train.sampler != "neighbour":
        share = min(1.0, train.batch_size / facts["nodes"])
        return facts["nodes"] * share, facts["edges"] * share
    depth = int(recipe.encoder.options.get("num_layers", 2)) + 1
    fanouts = train.fanouts or FANOUTS.get(depth) or (*DEEP, *[2] * (depth - len(DEEP)))
    mean = facts["edges"] / max(facts["nodes"], 1)
    frontier = nodes = float(train.batch_size)
    for fanout in fanouts:
        frontier *= min(mean, fanout) if fanout > 0 else mean
        nodes += frontier
    nodes = min(nodes, facts["nodes"])
    return nodes, min(2 * nodes, facts["edges"])


def _batch_size(recipe: Recipe) -> tuple[str, int]:
    """The section that names it, and how many graphs a step takes."""
    if recipe.finetune is not None:
        return "finetune", recipe.finetune.batch_size
    return "train", recipe.train.batch_size


def _narrower(hidden: int, times: float) -> int:
    """A power of two that is `times` narrower."""
    return max(8, 1 << max(0, int(hidden / times).bit_length() - 1))
