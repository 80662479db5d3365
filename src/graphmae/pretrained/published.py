"""Weights the published code saved, read into a model of ours: GAT and GIN, under DGL's names and PyG's.

Only tensors are read (`weights_only`): a pickle that holds anything else is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import decoders, encoders, losses, masking
from ..methods import GraphMAE
from ..runtime.errors import InputError
from ..runtime.tensors import first_unusual
from ..runtime.untrusted import refuse_zip_bomb
from .weights import refuse_not_finite

Weights = dict[str, Tensor]
PROJECTION = ("fc.weight", "lin.weight", "lin_src.weight")
SENDER, RECEIVER = ("attn_l", "att_src"), ("attn_r", "att_dst")


def from_published(
    path: str | Path, *, residual: bool = False, gamma: float = 2.0, rate: float = 0.5, activation: str = "prelu"
) -> GraphMAE:
    """The model whose `state_dict` the published scripts saved with torch.save (their `PreModel`).

    Layers, widths, heads and norms are read off the weights. What leaves no trace in them must be given where it is not
    the usual: `residual` connections between layers of one width, an `activation` without parameters ("relu", "elu"),
    and, if training is to go on, `gamma` and the mask `rate`.
    """
    weights = read_weights(path)
    if any(key.startswith("encoder.gat_layers.") for key in weights):
        kind, prefix, fill = "gat", "encoder.gat_layers", _fill_gat
    elif any(key.startswith("encoder.layers.") and ".apply_func." in key for key in weights):
        kind, prefix, fill = "gin", "encoder.layers", _fill_gin
    else:
        few = ", ".join(sorted(weights)[:4])
        raise InputError(f"{path} does not look like the published model with a GAT or GIN encoder; it holds {few}, …")
    depth = _depth(path, prefix, weights)
    try:
        network = _build(kind, prefix, weights, depth, residual, activation)
    except KeyError as error:
        raise InputError(f"{path}: {error.args[0]} is missing, so this is not a whole published model") from None
    except (ValueError, IndexError, RuntimeError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: its weights have not the shapes of a published model ({error})") from None
    network.criterion, network.mask = losses.ScaledCosineError(gamma), masking.RandomNodeMask(rate)
    mine = network.state_dict()
    try:
        for number in range(depth):
            fill(mine, f"encoder.blocks.{number}.", weights, f"{prefix}.{number}.", weights)
        decoder = "decoder" + prefix.removeprefix("encoder") + ".0."
        fill(mine, "decoder.block.", weights, decoder, {})
        if "decoder.bias" in mine:
            mine["decoder.bias"] = _first(weights, decoder, ("bias", "apply_func.linears.1.bias")).flatten()
        mine["bridge.weight"], mine["mask_token"] = weights["encoder_to_decoder.weight"], weights["enc_mask_token"][0]
        network.load_state_dict(mine)
    except (KeyError, RuntimeError, ValueError, IndexError, TypeError) as error:
        raise InputError(
            f"{path} does not fit a {kind} of {depth} layers: {' '.join(str(error).split())[:300]}"
        ) from None
    refuse_not_finite(network, network.state_dict(), str(path))
    network.trained_on = {"data": f"unknown: converted from {Path(path).name}"}
    return network.eval()


def _depth(path: str | Path, prefix: str, weights: Weights) -> int:
    """How many layers there are, numbered from 0 without a gap."""
    found = {match[1] for key in weights if (match := re.match(rf"{re.escape(prefix)}\.(\d+)\.", key))}
    if not found or found != {str(number) for number in range(len(found))}:
        raise InputError(f"{path}: the layers of its encoder are not numbered 0, 1, 2, …")
    return len(found)


def read_weights(path: str | Path) -> Weights:
    """A state dictionary, and nothing else, from a file torch.save wrote."""
    refuse_zip_bomb(path)
    if not Path(path).is_file():
        raise InputError(f"no file {path}")
    try:
        found: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or unsafe file can raise anything; all of it means the same to the user
        raise InputError(
            f"{path} is damaged or holds more than weights ({type(error).__name__}); it was not read"
        ) from None
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    if not isinstance(found, dict) or not found or not all(isinstance(value, Tensor) for value in found.values()):
        raise InputError(f"{path} holds no dictionary of weights")
    if wrong := first_unusual({str(key): value for key, value in found.items()}):
        raise InputError(f"{path}: {wrong}; weights are dense tensors")
    return {str(key).removeprefix("module."): value for key, value in found.items()}


def _build(kind: str, prefix: str, weights: Weights, depth: int, residual: bool, activation: str) -> GraphMAE:
    first, last = f"{prefix}.0.", f"{prefix}.{depth - 1}."
    residual = residual or any(key.startswith(prefix) and ".res_fc." in key for key in weights)
    width, code = weights["encoder_to_decoder.weight"].shape
    shared: dict[str, Any] = {"num_layers": depth, "activation": activation, "residual": residual, "dropout": 0.0}
    output = "all" if depth > 1 and code == depth * width else "last"
    if kind == "gat":
        channels = int(_first(weights, first, PROJECTION).shape[1])
        heads = int(_first(weights, first, SENDER).shape[-2])
        norm = _norm(weights, f"{first}norm.")
        encoder: Any = encoders.GAT(channels, width, heads=heads, norm=norm, output=output, **shared)
        out_heads = int(_first(weights, "decoder.gat_layers.0.", SENDER).shape[-2])
        if out_heads != 1:
            raise InputError(f"its decoder has {out_heads} output heads; only one is read")
        decoder: Any = decoders.GAT(width, channels, bias="trained", dropout=0.0)
    else:
        inner = "apply_func.mlp." if f"{first}apply_func.mlp.linears.0.weight" in weights else "apply_func."
        channels = int(weights[f"{first}{inner}linears.0.weight"].shape[1])
        norm = _norm(weights, f"{last}apply_func.norm.")
        encoder = encoders.GIN(channels, width, norm=norm, output=output, **shared)
        inside = _norm(weights, "decoder.layers.0.apply_func.norms.0.")
        decoder = decoders.GIN(width, channels, bias="trained", norm=inside, activation=activation, dropout=0.0)
    return GraphMAE(encoder, decoder)


def _norm(weights: Weights, prefix: str) -> str:
    if f"{prefix}running_mean" in weights:
        return "batch"
    return "layer" if f"{prefix}weight" in weights else "none"


def _first(weights: Weights, prefix: str, names: tuple[str, ...]) -> Tensor:
    for name in names:
        if prefix + name in weights:
            return weights[prefix + name]
    raise KeyError(prefix + names[0])


def _fill_gat(mine: Weights, block: str, weights: Weights, prefix: str, around: Weights) -> None:
    """One layer. A single activation for all hidden layers, as PyG's version has it, is given to each."""
    shape = mine[f"{block}conv.weight"].shape
    mine[f"{block}conv.weight"] = _first(weights, prefix, PROJECTION).reshape(shape)
    pair = [_first(weights, prefix, names).reshape(shape[:2]) for names in (SENDER, RECEIVER)]
    mine[f"{block}conv.attention"] = torch.stack(pair)
    if f"{block}conv.bias" in mine:
        mine[f"{block}conv.bias"] = weights[f"{prefix}bias"].flatten()
    _copy(mine, f"{block}finish.norm.", weights, f"{prefix}norm.")
    if f"{block}residual.weight" in mine:
        mine[f"{block}residual.weight"] = weights[f"{prefix}res_fc.weight"]
    if f"{block}finish.activation.weight" in mine:
        last = f"{prefix.rsplit('.', 2)[0]}.{int(prefix.rsplit('.', 2)[1]) + 1}.bias" not in weights
        shared = "encoder.last_activation.weight" if last else "encoder.activation.weight"
        own = weights.get(f"{prefix}activation.weight", around.get(shared))
        if own is None:
            raise KeyError(f"{prefix}activation.weight")
        mine[f"{block}finish.activation.weight"] = own


def _fill_gin(mine: Weights, block: str, weights: Weights, prefix: str, around: Weights) -> None:
    """One layer. A bias in front of a batch norm, which ours does not have, moves into the norm's running mean."""
    inner = (
        f"{prefix}apply_func.mlp." if f"{prefix}apply_func.mlp.linears.0.weight" in weights else f"{prefix}apply_func."
    )
    for theirs, ours in (("linears.0", "maps.0"), ("linears.1", "last")):
        mine[f"{block}conv.mlp.{ours}.weight"] = weights[f"{inner}{theirs}.weight"]
        if f"{block}conv.mlp.{ours}.bias" in mine:
            mine[f"{block}conv.mlp.{ours}.bias"] = weights[f"{inner}{theirs}.bias"]
    outer = f"{prefix}apply_func."
    for ours, theirs, bias in (
        (f"{block}conv.mlp.between.0.", f"{inner}norms.0.", f"{inner}linears.0.bias"),
        (f"{block}finish.", f"{outer}norm.", f"{inner}linears.1.bias"),
    ):
        _copy(mine, f"{ours}norm.", weights, theirs)
        if f"{ours}norm.running_mean" in mine:
            mine[f"{ours}norm.running_mean"] = weights[f"{theirs}running_mean"] - weights[bias]
    for ours, theirs in (
        (f"{block}conv.mlp.between.0.", f"{inner}activations.0."),
        (f"{block}finish.", f"{outer}act."),
    ):
        if f"{ours}activation.weight" in mine:
            mine[f"{ours}activation.weight"] = weights[f"{theirs}weight"]
    if f"{block}residual.weight" in mine:
        mine[f"{block}residual.weight"] = weights[f"{prefix}res_fc.weight"]
    if abs(float(weights.get(f"{prefix}eps", torch.zeros(1)))) > 0:
        raise KeyError(f"{prefix}eps other than 0 is not read")


def _copy(mine: Weights, to: str, weights: Weights, prefix: str) -> None:
    for key in mine:
        if key.startswith(to):
            mine[key] = weights[prefix + key.removeprefix(to)]
