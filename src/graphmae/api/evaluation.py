"""How good an encoder is on labelled data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from .. import config, pretrained
from ..config import Evaluation
from ..data.open import open_dataset
from ..data.splits import with_split
from ..evaluation import evaluator_for
from ..experiments.folder import RunFolder
from ..inference.embedding import check_width
from ..methods import Method
from ..pretrained import load
from ..results import Result
from ..runtime.device import resolve_device, with_torch_defaults
from ..runtime.environment import hardware, peak_bytes, versions
from ..runtime.errors import InputError
from ..runtime.seed import check_seeds


@with_torch_defaults
def evaluate(
    model: Method | str | Path,
    data: Any,
    seeds: Iterable[int] = (0,),
    *,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    overrides: Iterable[str] = (),
    data_root: str | Path | None = None,
    device: str = "auto",
) -> Result:
    """Evaluate an encoder on labelled data, compared with its baselines: linear probe, k-NN, k-means, or for whole
    graphs a support vector machine in ten folds.

    The encoder is fixed; seeds vary the probe and the baselines. A graph with labels but no split gets a random one
    (10 / 10 / 80 % of every class, from the seed 0). The probe's settings are those of the checkpoint's own recipe.
    Tables are read as in training, the label included; `columns` names other columns. `strict` refuses tables that have
    moved since.
    """
    began, seeds = time.monotonic(), check_seeds(seeds)
    opened = model if isinstance(model, nn.Module) else load(model)
    settings = evaluation_settings(model, list(overrides))
    dataset = open_dataset(data, data_root, columns, opened.inputs, strict)
    dataset = with_split(dataset)
    dataset.check_labels()
    check_width(opened.reader, dataset)
    used = resolve_device(device)
    evaluator = evaluator_for(dataset, settings, used)
    tables = evaluator.tables(opened.reader, partial(pretrained.fresh_encoder, opened), seeds)
    runs = [{"seed": seed, **table} for seed, table in zip(seeds, tables, strict=True)]
    return Result(
        recipe=str(model) if isinstance(model, str | Path) else type(opened.encoder).__name__,
        metric=dataset.metric,
        rule=evaluator.settings.rule,
        runs=runs,
        config={
            "method": {"name": getattr(type(opened), "registered_name", type(opened).__name__)},
            "evaluation": asdict(evaluator.settings),
            "inputs": dict(opened.inputs),
        },
        data={"name": dataset.name, **dict(dataset.summary())},
        seconds=time.monotonic() - began,
        peak_bytes=peak_bytes(str(used)),
        hardware=hardware(str(used)),
        versions=versions(),
    )


def evaluation_settings(model: object, overrides: list[str]) -> Evaluation:
    """Those of the checkpoint's own run where it is known, else the defaults; changed by `evaluation.*` overrides."""
    if other := [text for text in overrides if not text.startswith("evaluation.")]:
        raise InputError(f"the encoder is fixed: only evaluation.* can be set here, not {other[0]!r}")
    base: Mapping[str, Any] = config.load("default").to_dict()
    stored = RunFolder(pretrained.find_checkpoint(model)).stored_recipe() if isinstance(model, str | Path) else None
    if stored is not None:
        base = {**base, "evaluation": stored.get("evaluation", {})}
    return config.load(base, overrides).evaluation
