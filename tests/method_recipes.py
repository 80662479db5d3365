"""A small recipe for every registered method."""

from __future__ import annotations

import graphmae as gm
from graphmae.config import Recipe

SMALL = ("encoder.hidden_channels=8", "train.epochs=6", "evaluation.epochs=2", "data.num_nodes=80")
ONE_LAYER = ("encoder.num_layers=1",)
OWN = {
    "mvgrl": ("encoder.name=gcn-diffusion",),
    "context-pred": (*ONE_LAYER, "method.hops=2", "method.inner=0", "method.outer=3"),
}


def recipe(name: str, *overrides: str) -> Recipe:
    return gm.recipe("default", *OWN.get(name, ONE_LAYER), f"method.name={name}", *SMALL, *overrides)
