"""Pre-training: a method that returns its own loss, run over a data set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import kernels
from ..batching import Batch, GraphStore, Shuffled
from ..batching.prefetch import SampledBatches
from ..config import Train
from ..data import Dataset
from ..data.edge_data import EDGE_KEYS
from ..encoders import checkpointed
from ..methods import Method
from ..runtime.compiled import is_forked
from ..runtime.device import autocasting
from ..runtime.errors import InputError
from ..runtime.resting import resting_copy
from .capture import CapturedBatches, CapturedStep
from .collapse import Collapse
from .distributed import ALONE, Ranks, shared_or_shuffled
from .journal import Journal
from .optim import make_optimizer, make_schedule
from .sampled import sampled_batches
from .state import Outcome
from .trainer import Batches, Trainer

if TYPE_CHECKING:
    from torch_geometric.data import Data

logger = logging.getLogger("graphmae")
SAMPLE, SAMPLE_NODES = 64, 20_000  # at most as many graphs, and nodes of them, whose embeddings are looked at


def pretrain_model(
    model: Method,
    dataset: Dataset,
    train: Train,
    device: torch.device,
    *,
    after_epoch: Sequence[Callable[[int], dict[str, Any] | None]] = (),
    journal: Journal | None = None,
    ranks: Ranks = ALONE,
    after_step: Sequence[Callable[[int, Tensor], None]] = (),
    most_steps: int | None = None,
) -> Outcome:
    """Train `model` in place on the graphs of `dataset`, of which it sees no labels; each of `ranks` on its share.

    It ends after `most_steps`, where that is less than all.
    """
    model.to(device)
    if is_forked() and device.type == "cpu":
        logger.warning(
            "a forked process trains with one thread and plain kernels, and the same seed gives other weights than "
            "elsewhere; use multiprocessing.get_context('spawn')"
        )
    sampled = sampled_batches(model, dataset, train, device, ranks) if train.sampler else None
    if sampled is not None:
        after_epoch = [*after_epoch, sampled.share_waited]
    batches, record, sample = _batches(model, dataset, train, device, ranks, sampled)
    if train.accumulate > 1 or train.checkpoint_activations or ranks.size > 1:
        record = None  # what is recorded does the same in every step, with random numbers nobody sets back
    model.prepare(train.epochs * -(-len(batches) // train.accumulate))
    journal = journal or Journal()
    if model.route and ranks.is_first:
        logger.info("%s: %s", journal.label, model.route)
    watch = Collapse(partial(_embedded, model, sample), train.epochs, journal.label)
    watch.start()
    trainer = Trainer(
        model,
        partial(_loss, autocasting(device, train.precision)),
        make_optimizer(model, train.lr, train.weight_decay, train.optimizer),
        make_schedule(train.schedule, train.epochs, len(batches), train.warmup),
        clip_norm=train.clip_norm,
        terms=model.terms,
        accumulate=train.accumulate,
        ranks=ranks,
        sync_norm=train.sync_norm,
        in_step=model.after_step,
        in_epoch=model.after_epoch,
        after_step=[watch.note, *after_step],
        after_epoch=[watch, *after_epoch],
        journal=journal,
    )
    if record is not None:
        trainer.record = record
    with checkpointed(model) if train.checkpoint_activations else nullcontext():
        steps = train.epochs * len(batches)
        outcome = trainer.fit(batches, steps if most_steps is None else min(steps, most_steps))
    watch.finish(outcome.epochs * len(batches))
    if sampled is not None and sampled.passed:
        logger.info("%s: waited %.1f %% of the time for data", journal.label, 100 * sampled.waited / sampled.passed)
    return outcome


@torch.no_grad()
def _embedded(model: Method, sample: Callable[[], Batch]) -> Tensor:
    """What the encoder makes of a few graphs, of one, or of some seeds, without dropout."""
    batch = sample()
    return batch.counted(resting_copy(model).encode(batch))


def _loss(precision: AbstractContextManager[None], model: Method, batch: Batch) -> Tensor:
    with precision:
        return model(batch)


def _batches(
    model: Method,
    dataset: Dataset,
    train: Train,
    device: torch.device,
    ranks: Ranks = ALONE,
    sampled: SampledBatches | None = None,
) -> tuple[Batches[Any], Callable[[Callable[[Any], Tensor]], Callable[[Any], Tensor]] | None, Callable[[], Batch]]:
    """A single graph is a batch of its own, or `sampled`; several are shuffled. On CUDA steps are recorded where that
    can be.

    Last a function that gives a batch to look at embeddings of: always the same.
    """
    if sampled is not None:
        return sampled, None, sampled.looked_at
    divided = ranks.size > 1
    on_cuda = device.type == "cuda" and kernels.has("cuda") and not divided  # plain torch waits for the device
    graphs = dataset.pretrain_graphs()
    if len(graphs) == 1 and divided:
        raise InputError(
            f"{dataset.name} is one graph, which {ranks.size} processes cannot divide as it is: train by mini-batches "
            "(--set train.sampler=neighbour --set train.batch_size=1024) or in parts "
            f"(--set train.parts={8 * ranks.size} --set train.batch_size={2 * ranks.size})"
        )
    if len(graphs) == 1:
        whole = Batch(graphs[0].x.to(device), kernels.edges_of(graphs[0], device))
        return [whole], CapturedStep if on_cuda and model.records_steps else None, lambda: whole
    if any(isinstance(kernels.edges_of(graph), kernels.Adjacency) for graph in graphs):  # a store knows no weights
        joined = partial(_side_by_side, graphs, device)
        shuffled = shared_or_shuffled(torch.arange(len(graphs)), train.batch_size, joined, ranks)
        return shuffled, None, partial(joined, torch.tensor([0]))
    store = GraphStore(dataset.pretrain_sets(), device, edges=model.uses_edge_codes)
    ids = torch.arange(len(store))
    few = max(1, int((store.node_sizes[:SAMPLE].cumsum(0) <= SAMPLE_NODES).sum()))
    sample = partial(store.take, ids[:few])
    plain = train.accumulate > 1 or train.checkpoint_activations
    if on_cuda and model.takes_padding and not plain:  # graphs are taken by their numbers, inside of what is recorded
        return Shuffled(ids, train.batch_size), partial(CapturedBatches, store=store), sample
    return shared_or_shuffled(ids, train.batch_size, store.take, ranks), None, sample


def _side_by_side(graphs: Sequence[Data], device: torch.device, ids: Tensor) -> Batch:
    """Some graphs with their weights and features of edges, as one batch."""
    if len(ids) == 1:
        one = graphs[int(ids)]
        return Batch(one.x.to(device), kernels.edges_of(one, device))
    from torch_geometric.data import Batch as PyGBatch
    from torch_geometric.data import Data

    keys = ("x", "edge_index", *EDGE_KEYS)
    joined = PyGBatch.from_data_list([Data(**{k: graphs[i][k] for k in keys if k in graphs[i]}) for i in ids.tolist()])
    return Batch(joined.x.to(device), kernels.edges_of(joined, device), joined.batch.to(device), ids=ids)
