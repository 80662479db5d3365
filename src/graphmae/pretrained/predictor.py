"""Fine-tuned models as folders: the same three files, of the kind "predictor"."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..finetuning.automatic import AutomaticPredictor
from ..finetuning.committee import Committee
from ..finetuning.predictor import Predictor
from ..inference.embedding import READOUTS
from ..runtime.environment import package_version
from ..runtime.errors import ConfigError, unknown
from .automatic import load_automatic
from .card import predictor_card
from .checkpoint import FORMAT, build_part, described, explained, read_kind, write
from .locations import AUTOMATIC, find_seeds
from .weights import build_to_fit, fill


def save_predictor(
    predictor: Predictor,
    folder: str | Path,
    metric: str = "",
    scores: Mapping[str, float] | None = None,
    trained_on: Mapping[str, Any] | None = None,
) -> Path:
    """Write a fine-tuned model to `folder`, with what is known about it."""
    config = {
        "format": FORMAT,
        "kind": "predictor",
        "graphmae": package_version(),
        "encoder": described("encoder", predictor.encoder),
        "targets": list(predictor.names),
        "task": predictor.kind,
        "readout": predictor.readout,
        "dropout": predictor.dropout,
        "inputs": dict(predictor.inputs),
        "metric": metric,
        "scores": dict(scores or {}),
        "trained_on": dict(trained_on or {}),
    }
    return write(Path(folder), predictor, config, predictor_card(predictor, config))


def load_predictor(folder: str | Path) -> Predictor | AutomaticPredictor:
    """The model `save_predictor` or `save_automatic` wrote, in evaluation mode. A run's folder gives its first seed's.

    `load_committee` gives those of all seeds as one.
    """
    folder, config = read_kind(folder, "predictor")
    if config["kind"] == AUTOMATIC:
        return load_automatic(folder, config)
    with explained(folder):
        predictor = build_to_fit(folder, lambda: _build(config))
    predictor.inputs = dict(config.get("inputs", {}))
    fill(predictor, folder)
    return predictor.eval()


def load_committee(folder: str | Path) -> Committee:
    """The models of all seeds of a run, which predict together."""
    return Committee(tuple(load_predictor(seed) for seed in find_seeds(folder)))


def _build(config: Mapping[str, Any]) -> Predictor:
    if wrong := [way for way in config["readout"].split("+") if way not in READOUTS]:
        raise ConfigError(unknown("readout", wrong[0], READOUTS))
    encoder = build_part("encoder", config["encoder"])
    return Predictor(encoder, config["targets"], config["task"], config["readout"], config["dropout"])
