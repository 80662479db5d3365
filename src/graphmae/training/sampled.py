"""Mini-batches of one graph for a method: which plan, how deep, and whether the method can learn from them."""

from __future__ import annotations

from torch import device as Device
from torch import nn

from ..batching.prefetch import Neighbourhoods, Parts, Plan, SampledBatches
from ..config import Train
from ..data import Dataset
from ..methods import Method
from ..runtime.errors import InputError
from .distributed import ALONE, Ranks

# Hops → neighbours per node: some 250 nodes for every seed, as many in each hop as the next ones leave room for.
FANOUTS = {1: (15,), 2: (15, 10), 3: (10, 5, 5), 4: (8, 4, 4, 2)}
DEEP = (5, 4, 3, 2)


def sampled_batches(
    model: Method, dataset: Dataset, train: Train, device: Device, ranks: Ranks = ALONE
) -> SampledBatches:
    """The batches a recipe asks for with `train.sampler`; refused where the method needs the whole graph.

    Of several processes each takes its share of the seeds, or of the nodes, of a step.
    """
    check_sampling(model, train)
    graph, size = dataset.compressed(), min(train.batch_size, dataset.compressed().num_nodes)
    if size < 2 * ranks.size:
        raise InputError(
            f"a step of {size} nodes cannot be divided among {ranks.size} processes, each of which needs two: raise "
            "train.batch_size, which is for all of them together, or start fewer"
        )
    plan: Plan
    if train.sampler == "neighbour":
        plan = Neighbourhoods(graph, fanouts_of(model, train), train.batch_size, ranks.rank, ranks.size)
    else:
        share = -(-train.batch_size // ranks.size)
        plan = Parts(graph, share, train.sampler == "cluster", ranks.rank, ranks.size)
    return SampledBatches(plan, device, train.steps, train.workers, agree=ranks.agree)


def check_sampling(model: Method, train: Train) -> None:
    """Refuse a method that cannot learn from such batches, and depths that nobody can know."""
    if train.sampler != "neighbour":
        return
    if not model.of_seeds:
        raise InputError(
            f"{type(model).__name__} looks at more than a node and its neighbours, so it cannot learn from sampled "
            "neighbours: take train.sampler = 'cluster', or the whole graph"
        )
    fanouts_of(model, train)


def fanouts_of(model: Method, train: Train) -> tuple[int, ...]:
    """Neighbours per node, hop by hop: those of the recipe, or by how far the loss of a node looks."""
    if train.fanouts:
        return train.fanouts
    depth = depth_of(model.encoder)
    if not depth:
        raise InputError(
            f"how far {type(model.encoder).__name__} looks is not known: set train.fanouts, one number for every hop "
            "(its layers, and one more for a decoder that looks at neighbours)"
        )
    hops = depth + model.reach
    return FANOUTS.get(hops) or (*DEEP, *[2] * (hops - len(DEEP)))


def depth_of(encoder: nn.Module) -> int:
    """How many steps away from a node an encoder looks; 0: not known."""
    return int(getattr(encoder, "num_outputs", 0))


def approximation(model: Method, train: Train) -> str:
    """What is different from training on the whole graph, in words, for the model's card; "" where nothing is."""
    if train.sampler == "neighbour":
        fanouts = ", ".join("all" if fanout < 0 else str(fanout) for fanout in fanouts_of(model, train))
        norms = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in model.encoder.modules())
        more = "; batch norms see all nodes of a batch, also those whose neighbours were not drawn" if norms else ""
        sizes = f"mini-batches of {train.batch_size:,} seeds with sampled neighbours ({fanouts} by hop)"
        return f"{sizes}: {model.of_seeds}{more}"
    if train.sampler:
        kind = "near each other" if train.sampler == "cluster" else "drawn at random"
        return f"mini-batches of {train.batch_size:,} nodes {kind}: edges to other nodes are not seen"
    return ""
