"""From a recipe to a model: built, and tried out before anything is trained."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import decoders, encoders, kernels, losses, masking
from ..batching import Batch
from ..config import Recipe
from ..kernels import Adjacency
from ..runtime.errors import ConfigError
from ..runtime.resting import resting_copy
from ..runtime.seed import preserved_randomness
from .base import REGISTRY, Method


def build(recipe: Recipe, in_channels: int, target_channels: int | None = None, edge_channels: int = 0) -> Method:
    """The model a recipe describes, for features of this width, of which the first `target_channels` (None: all) are
    reconstructed. Edges have `edge_channels` features, for encoders that take some."""
    encoder = encoders.build_for(recipe.encoder.name, recipe.encoder.options, in_channels, edge_channels)
    parts: dict[str, Any] = {"encoder": encoder}
    if recipe.decoder is not None:
        hidden = getattr(encoder, "hidden_channels", encoder.out_channels)
        kind = REGISTRY.get(recipe.method.name)
        decoded = getattr(kind, "decoded_channels", Method.decoded_channels)(encoder, target_channels or in_channels)
        widths = {"in_channels": hidden, "out_channels": decoded}
        parts["decoder"] = decoders.build(recipe.decoder.name, **widths, **recipe.decoder.options)
    if recipe.mask is not None:
        parts["mask"] = masking.build(recipe.mask.name, **recipe.mask.options)
    if recipe.loss is not None:
        parts["loss"] = losses.build(recipe.loss.name, **recipe.loss.options)
    return REGISTRY.build(recipe.method.name, **parts, **recipe.method.options)


def rehearse(model: Method) -> None:
    """One loss on a graph of four nodes: a part of the user's own that cannot work is refused before training.

    In plain torch: compiling kernels for a device that may not be the one trained on takes a quarter of a minute.
    """
    encoder = model.encoder
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    x = torch.eye(4, int(encoder.in_channels), device=device)  # type: ignore[arg-type]
    edge_index: Tensor | Adjacency = torch.tensor([[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 1, 0]], device=device)
    if width := max(int(getattr(part, "edge_channels", 0)) for part in model.parts.values()):
        edge_index = kernels.adjacency(edge_index, 4)
        edge_index.edge_sums = torch.ones(4, width, device=device)
        edge_index.edge_codes = torch.zeros(6, dtype=torch.uint8, device=device)
        edge_index.edge_table = torch.ones(2, width, device=device)
    batch, model = Batch(x, edge_index), resting_copy(model)
    encoder = model.encoder
    try:
        with torch.no_grad(), preserved_randomness(), kernels.use("reference"):
            found, promised = tuple(kernels.encode(encoder, x, batch.edges(encoder)).shape), (4, encoder.out_channels)
            if found != promised:
                raise ConfigError(f"the encoder gives {found} for four nodes; its out_channels promises {promised}")
            if (loss := model(batch)).dim() != 0:
                raise ConfigError(f"{type(model).__name__}.loss gives the shape {tuple(loss.shape)}, not a scalar")
    except ConfigError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
        raise ConfigError(f"the model fails on a graph of four nodes: {reason}") from error


def check(recipe: Recipe) -> None:
    """Make every part and the model once, without memory or data, so that a wrong value is refused before anything
    runs."""
    width, problems = 8, list[str]()
    kinds: dict[str, Callable[..., Any]] = {
        "mask": masking.build, "loss": losses.build, "encoder": encoders.build, "decoder": decoders.build
    }  # fmt: skip
    widths = {"encoder": {"in_channels": width}, "decoder": {"in_channels": width, "out_channels": width}}
    for kind, make in kinds.items():
        if (part := getattr(recipe, kind)) is not None:
            problems += _problems(partial(make, part.name, **widths.get(kind, {}), **part.options))
    problems = problems or _problems(partial(build, recipe, width))
    if problems:
        raise ConfigError(problems, recipe.id)


def _problems(make: Callable[[], object]) -> list[str]:
    try:
        with torch.device("meta"):
            make()
    except ConfigError as error:
        return list(error.problems)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        return [f"{type(error).__name__}: {error}"]
    return []
