"""One pre-training, from a recipe and a data set to a saved model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from .. import methods, pretrained
from ..batching.partition import pieces
from ..config import Recipe, Train, to_toml
from ..data import GraphSet, MoleculeStore, NodeDataset
from ..inference.embedding import reconstruction_error
from ..runtime.device import numerics
from ..runtime.errors import DataError, InputError
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Outcome, Plateau, pretrain_model, quiet, tensorboard
from ..training.progress import Display
from .folder import RunFolder

logger = logging.getLogger("graphmae")


def pretrain_once(
    recipe: Recipe,
    dataset: NodeDataset | GraphSet | MoleculeStore,
    seed: int,
    device: torch.device,
    *,
    folder: RunFolder | None = None,
    resume: bool = False,
    display: Display = quiet,
    label: str = "pretrain",
) -> methods.GraphMAE:
    """The model a recipe describes, pre-trained on a data set and nothing else; with a folder, saved there.

    Everything that would fail is refused before training begins. A folder that is finished already is left alone.
    """
    device_numerics = numerics(device, recipe.train.precision)
    with preserved_randomness(check_seeds([seed])[0]), device_numerics, ExitStack() as held:
        network = methods.build(recipe, dataset.in_channels, getattr(dataset, "target_channels", None))
        network.inputs = dict(dataset.treatment)
        network.trained_on = facts_of(dataset, recipe.train, seed)
        methods.rehearse(network)
        check_features(network, dataset.pretrain_graphs(), dataset.name)
        if folder is not None:
            pretrained.describe(network)
            held.enter_context(folder.claim({**recipe.to_dict(), "seed": seed}, resume))
            folder.write_recipe_toml(to_toml(recipe))
            if folder.holds_model:
                return pretrained.load(folder.path)
        outcome = train(
            network,
            dataset.pretrain_graphs(),
            recipe.train,
            folder,
            device,
            resume=resume,
            display=display,
            label=label,
        )
        network.trained_on["epochs"] = outcome.epochs
        network.eval()
        if folder is not None:
            pretrained.save(network, folder.path)
            folder.state.delete()
    return network


def train(
    network: methods.GraphMAE,
    graphs: list[Data] | GraphSet | MoleculeStore,
    settings: Train,
    folder: RunFolder | None,
    device: torch.device,
    *,
    resume: bool = False,
    display: Display = quiet,
    label: str = "pretrain",
    after_epoch: Callable[[int], dict[str, Any] | None] | None = None,
) -> Outcome:
    """Pre-train `network` in place; with a folder resumably, its metrics written there.

    A single graph may be trained in parts; with patience, training ends when reconstruction stops to improve.
    """
    metrics = None if folder is None else folder.metrics
    if settings.parts > 1 and isinstance(graphs, list) and len(graphs) == 1:
        graphs = pieces(graphs[0], min(settings.parts, int(graphs[0].num_nodes)))
    watched = _plateau(network, graphs, settings, device, metrics if resume else None)

    def both(epoch: int) -> dict[str, Any] | None:
        found = (after_epoch(epoch) if after_epoch else None) or {}
        return {**found, **((watched(epoch) if watched else None) or {})} or None

    log = tensorboard(folder.tensorboard) if settings.tensorboard and folder is not None else None
    return pretrain_model(
        network,
        graphs,
        settings,
        device,
        label=label,
        display=display,
        metrics=metrics,
        state=None if folder is None else folder.state,
        resume=resume,
        after_epoch=both,
        log=log,
    )


def _plateau(
    network: methods.GraphMAE,
    graphs: list[Data] | GraphSet | MoleculeStore,
    settings: Train,
    device: torch.device,
    past: Path | None,
) -> Plateau | None:
    """Watches how well masked nodes are reconstructed: always the same nodes, without dropout."""
    if not settings.patience:
        return None
    if not isinstance(graphs, list):
        raise InputError("train.patience is for single graphs; leave it at 0")
    seen = {}
    if past is not None and past.is_file():
        lines = [json.loads(line) for line in past.read_text().splitlines()]
        seen = {line["epoch"]: line["criterion"] for line in lines if "criterion" in line}
    return Plateau(partial(reconstruction_error, network, graphs, device), settings.patience, seen)


def facts_of(dataset: NodeDataset | GraphSet | MoleculeStore, settings: Train, seed: int | None) -> dict[str, Any]:
    """What a model was trained on, for its card."""
    facts: dict[str, Any] = {"data": dataset.name, **dict(dataset.summary()), "epochs": settings.epochs}
    return facts if seed is None else {**facts, "seed": seed}


def check_features(network: methods.GraphMAE, graphs: list[Data] | GraphSet | MoleculeStore, label: str) -> None:
    """Refuse features the loss cannot be computed on, and say which nodes it leaves out."""
    if isinstance(graphs, MoleculeStore):
        return
    if isinstance(graphs, GraphSet):
        if graphs.num_codes is not None:
            return  # one-hot: nothing can be wrong with them
        graphs = [Data(x=graphs.x)]
    if (check := getattr(network.loss, "check", None)) is not None:
        for graph in graphs:
            check(graph.x)
    left_out = sum(getattr(network.loss, "left_out", lambda x: 0)(graph.x) for graph in graphs)
    if left_out == sum(int(graph.num_nodes) for graph in graphs):
        raise DataError(f"{label}: every node has only zeros as features, so there is nothing to reconstruct")
    if left_out:
        logger.info("%s: %d nodes have only zeros as features; they are left out of the loss", label, left_out)
