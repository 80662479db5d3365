"""One pre-training: prepared, trained, saved. Every way to pre-train goes through `pretrain`."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from .. import kernels, methods, pretrained
from ..batching.partition import in_pieces
from ..config import Recipe, Train, to_toml
from ..data import Dataset
from ..encoders import Views
from ..inference.embedding import check_width, steady_loss
from ..methods import Method
from ..registry import imported_digests
from ..runtime.device import numerics
from ..runtime.environment import environment_facts
from ..runtime.errors import DataError, InputError, NotFinite
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Journal, Outcome, Plateau, pretrain_model, quiet, tensorboard
from ..training.distributed import ALONE, Ranks
from ..training.progress import Display
from ..training.sampled import approximation, check_sampling
from .folder import RunFolder
from .memory import check_memory

logger = logging.getLogger("graphmae")
HUGE = 1e6  # a feature beyond it is more likely to be why a loss overflows than the learning rate
APPROXIMATED = "nodes and graphs were compared with those of the same process, not with all of a batch"
AfterEpoch = Callable[[int], dict[str, Any] | None]


def pretrain_once(
    recipe: Recipe,
    dataset: Dataset,
    seed: int,
    device: torch.device,
    *,
    folder: RunFolder | None = None,
    resume: bool = False,
    force: bool = False,
    display: Display = quiet,
    label: str = "pretrain",
    facts: Mapping[str, Any] | None = None,
    ranks: Ranks = ALONE,
    start: Method | None = None,
) -> Method:
    """The model a recipe describes, pre-trained on a data set and nothing else; with a folder, saved there.

    Everything that would fail is refused before training begins. A folder that is finished already is left alone.
    `facts` join what the model's card says of its training. With a `start` it has that model's weights to begin with.
    """
    with preserved_randomness(check_seeds([seed])[0]), computing(recipe.train, device), ExitStack() as held:
        check_memory(dataset, recipe, device)
        model = build(recipe, dataset, seed)
        model.trained_on |= facts or {}
        if start is not None:
            model.load_state_dict(start.state_dict())
        check(model, dataset, recipe.train, stored=folder is not None)
        if folder is not None:
            held.enter_context(folder.claim({**recipe.to_dict(), "seed": seed, **_origin(facts)}, resume, force=force))
            if ranks.is_first:
                folder.write_recipe_toml(to_toml(recipe))
            if ranks.agree(folder.holds_model):
                if ranks.is_first:
                    folder.delete_states()
                return pretrained.load(folder.path)
        before_save = None if folder is None else partial(_write_environment, folder, device)
        pretrain(
            model, dataset, recipe.train, device,
            folder=folder, resume=resume, display=display, label=label, before_save=before_save, ranks=ranks,
        )  # fmt: skip
        if folder is not None and ranks.is_first:
            folder.delete_states()
    return model


def _write_environment(folder: RunFolder, device: torch.device, outcome: Outcome) -> None:
    folder.write_environment(environment_facts(str(device), outcome.seconds))


@contextmanager
def computing(settings: Train, device: torch.device) -> Iterator[None]:
    """A block in which numbers are computed as a recipe says."""
    with numerics(device, settings.precision, settings.deterministic):
        yield


def build(recipe: Recipe, dataset: Dataset, seed: int | None = None) -> Method:
    """The model a recipe describes, for a data set."""
    if not recipe.embedding.views:
        model = methods.build(recipe, dataset.in_channels, dataset.target_channels, dataset.edge_channels)
    else:
        model = _with_views(recipe, dataset)
    model.inputs, model.trained_on = dict(dataset.treatment), facts_of(dataset, recipe.train, seed)
    return model


def _with_views(recipe: Recipe, dataset: Dataset) -> Method:
    if dataset.task != "node":
        raise InputError("embedding.views are for single graphs; leave them empty")
    settings = recipe.embedding
    width = Views.input_channels(dataset.in_channels, settings.width)
    model = methods.build(recipe, width, width, dataset.edge_channels)
    learned = int(model.encoder.out_channels)  # type: ignore[arg-type]
    model.views = Views.fit(dataset.pretrain_graphs(), learned, settings.views, settings.width)
    return model


def check(model: Method, dataset: Dataset, settings: Train, *, stored: bool = True) -> None:
    """Refuse before training what would fail in it or, if the model is to be `stored`, in saving."""
    check_width(model.reader, dataset)
    for name, weight in model.named_parameters():
        if weight.is_inference():
            raise InputError(
                f"{name} was made inside of torch.inference_mode(), so it cannot be trained; make the model outside"
            )
        if weight.dtype == torch.float64:
            raise InputError(f"{name} is float64, and training is in float32; use model.float()")
    if settings.sampler:
        _check_sampled(model, dataset, settings)
    graphs = 1 if settings.sampler else len(dataset.pretrain_graphs())
    if settings.parts > 1 and graphs != 1:
        raise InputError(f"train.parts is for a single graph, and {dataset.name} has several; leave it at 1")
    if settings.patience and not graphs:
        raise InputError("train.patience is for single graphs; leave it at 0")
    if dataset.edge_channels and not getattr(model.encoder, "edge_channels", 0):
        logger.warning(
            "%s: the encoder takes no features of edges, so edge_attr is left aside; GAT, GCN and GIN take them, with "
            "edge_channels = %d", dataset.name, dataset.edge_channels,
        )  # fmt: skip
    methods.rehearse(model)
    if model.views is None:
        _check_features(model, dataset)
    if stored:
        pretrained.describe(model)


def _check_sampled(model: Method, dataset: Dataset, settings: Train) -> None:
    if dataset.on_disk and model.views is not None:
        raise InputError("embedding.views need the whole graph in memory, and this one is on disk; leave them empty")
    if dataset.on_disk and settings.patience:
        raise InputError("train.patience looks at the whole graph, and this one is on disk; leave it at 0")
    if not dataset.on_disk and not len(dataset.pretrain_graphs()) == 1:
        raise InputError(f"train.sampler is for a single graph, and {dataset.name} has several; leave it empty")
    check_sampling(model, settings)
    if note := approximation(model, settings):
        model.trained_on["approximation"] = note


def pretrain(
    model: Method,
    dataset: Dataset,
    settings: Train,
    device: torch.device,
    *,
    folder: RunFolder | None = None,
    resume: bool = False,
    display: Display = quiet,
    label: str = "pretrain",
    after_epoch: Sequence[AfterEpoch] = (),
    before_save: Callable[[Outcome], None] | None = None,
    ranks: Ranks = ALONE,
) -> Outcome:
    """Train a model in place; with a folder, resumably, and saved there with its metrics, by rank 0.

    A single graph may be trained in parts; with patience, training ends when the loss stops improving. The state to
    resume from stays: its folder's owner deletes it when everything is done. A folder with a model is finished, so what
    else belongs in it is written by `before_save`.
    """
    graphs = dataset.pretrain_graphs() if model.views is not None else []
    if model.views is not None:
        views = model.views.cpu()
        dataset = dataset.with_features(lambda graph: views.inputs(graph.x, kernels.edges_of(graph)))
    if settings.parts > 1:
        dataset = in_pieces(dataset, settings.parts)
    hooks, journal = list(after_epoch), Journal(label, display)
    if folder is not None:
        journal = Journal(label, display, folder.metrics, state=folder.state, resume=resume)
        journal.log = tensorboard(folder.tensorboard) if settings.tensorboard and ranks.is_first else None
    plateau = None
    if settings.patience:  # the loss over always the same draws, without dropout
        plateau = Plateau(partial(steady_loss, model, dataset.pretrain_graphs(), device), settings.patience)
        hooks.append(plateau)
    try:
        outcome = pretrain_model(model, dataset, settings, device, after_epoch=hooks, journal=journal, ranks=ranks)
    except NotFinite as error:
        suspect = _suspect_column(dataset)
        raise (NotFinite(f"{str(error).rpartition(';')[0]}; {suspect}") if suspect else error) from None
    model.trained_on["epochs"] = outcome.epochs
    if ranks.size > 1:
        model.trained_on["processes"] = ranks.size
        if not model.is_sum_of_parts:
            before = model.trained_on.get("approximation")
            model.trained_on["approximation"] = f"{before}; {APPROXIMATED}" if before else APPROXIMATED
    if plateau is not None and outcome.epochs < settings.epochs:
        stopped = f"stopped after {outcome.epochs} of {settings.epochs} epochs: {plateau.reason()}"
        model.trained_on["ended"] = stopped
        logger.info("%s: %s", label, stopped)
    model.eval()
    if model.views is not None:
        model.views.to(device).settle(model.encoder, graphs)
    if folder is not None and ranks.is_first:
        if before_save is not None:
            before_save(outcome)
        pretrained.save(model, folder.path)
    return outcome


def _suspect_column(dataset: Dataset) -> str:
    """The column of the features that may be why numbers became infinite; "" where all are of an ordinary size."""
    for x in dataset.features_to_check():
        largest = x.abs().amax(0)
        column = int(torch.nan_to_num(largest, nan=math.inf).argmax())
        if not largest[column] <= HUGE:
            return (
                f"column {column} of the features reaches {float(largest[column]):.3g}, which is the likely reason: "
                "scale it, take its logarithm, or leave it out"
            )
    return ""


def _origin(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run that goes on from another model must have in common with one that it resumes."""
    return {key: facts[key] for key in ("started_from",) if facts and key in facts}


def facts_of(dataset: Dataset, settings: Train, seed: int | None) -> dict[str, Any]:
    """What a model was trained on, for its card."""
    facts: dict[str, Any] = {"data": dataset.name, **dict(dataset.summary()), "epochs": settings.epochs}
    if code := imported_digests():
        facts["code"] = ", ".join(f"{name} (sha256 {digest[:12]})" for name, digest in code.items())
    return facts if seed is None else {**facts, "seed": seed}


def _check_features(model: Method, dataset: Dataset) -> None:
    """Refuse features the loss cannot be computed on, and report which nodes it leaves out."""
    check, count = getattr(model.criterion, "check", None), getattr(model.criterion, "left_out", None)
    left_out = nodes = 0
    for x in dataset.features_to_check():
        if check is not None:
            check(x)
        left_out, nodes = left_out + (0 if count is None else count(x)), nodes + len(x)
    if left_out and left_out == nodes:
        raise DataError(f"{dataset.name}: every node has only zeros as features, so there is nothing to reconstruct")
    if left_out:
        logger.info("%s: %d nodes have only zeros as features; they are left out of the loss", dataset.name, left_out)
