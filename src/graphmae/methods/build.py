"""From a recipe to a model: built, and tried out before anything is trained."""

from __future__ import annotations

import traceback
from pathlib import Path

import torch
from torch import Tensor

from .. import decoders, encoders, kernels, losses, masking
from ..config import Recipe
from ..kernels import Adjacency
from ..runtime.errors import ConfigError
from ..runtime.seed import preserved_randomness
from .graphmae import GraphMAE


def build(recipe: Recipe, in_channels: int, target_channels: int | None = None) -> GraphMAE:
    """The model a recipe describes, for features of this width, of which the first `target_channels` (None: all) are
    reconstructed."""
    encoder = encoders.build(recipe.encoder.name, in_channels=in_channels, **recipe.encoder.options)
    hidden = getattr(encoder, "hidden_channels", encoder.out_channels)
    decoder = decoders.build(
        recipe.decoder.name, in_channels=hidden, out_channels=target_channels or in_channels, **recipe.decoder.options
    )
    return GraphMAE(
        encoder,
        decoder,
        mask=masking.build(recipe.mask.name, **recipe.mask.options),
        loss=losses.build(recipe.loss.name, **recipe.loss.options),
        remask=recipe.remask,
        drop_edge=recipe.drop_edge,
        mask_edges=recipe.mask_edges,
    )


def rehearse(network: GraphMAE) -> None:
    """One loss on a graph of four nodes: a part of the user's own that cannot work is refused before training."""
    x = torch.eye(4, int(network.encoder.in_channels), device=network.mask_token.device)  # type: ignore[arg-type]
    edge_index: Tensor | Adjacency = torch.tensor([[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 1, 0]], device=x.device)
    if width := max(getattr(part, "edge_channels", 0) for part in (network.encoder, network.decoder)):
        edge_index = kernels.adjacency(edge_index, 4)
        edge_index.edge_sums = torch.ones(4, width, device=x.device)
        edge_index.edge_codes = torch.zeros(6, dtype=torch.uint8, device=x.device)
        edge_index.edge_table = torch.ones(2, width, device=x.device)
    was_training = network.training
    try:
        with torch.no_grad(), preserved_randomness():
            network.eval()
            edges = edge_index if getattr(network.encoder, "takes_adjacency", False) else kernels.plain(edge_index)
            found, promised = tuple(network.encoder(x, edges).shape), (4, network.encoder.out_channels)
            if found != promised:
                raise ConfigError(f"the encoder gives {found} for four nodes; its out_channels promises {promised}")
            network(x, edge_index)
    except ConfigError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
        raise ConfigError(f"the model fails on a graph of four nodes: {reason}") from error
    finally:
        network.train(was_training)


def check(recipe: Recipe) -> None:
    """Make every part once, without memory or data, so that a wrong value is refused before anything runs."""
    problems = []
    width = 8
    for make in (
        lambda: masking.build(recipe.mask.name, **recipe.mask.options),
        lambda: losses.build(recipe.loss.name, **recipe.loss.options),
        lambda: encoders.build(recipe.encoder.name, in_channels=width, **recipe.encoder.options),
        lambda: decoders.build(recipe.decoder.name, in_channels=width, out_channels=width, **recipe.decoder.options),
    ):
        try:
            with torch.device("meta"):
                make()
        except ConfigError as error:
            problems += error.problems
        except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
            problems.append(f"{type(error).__name__}: {error}")
    if problems:
        raise ConfigError(problems, recipe.id)
