"""How good an encoder is on labelled data."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
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

logger = logging.getLogger("graphmae")


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
    (10 / 10 / 80 % of every class, from the seed 0); where it has a train mask alone, the others validate (a ninth) and
    test. Masks [N, k] are k splits: every one is scored, an entry of `runs` is a split, its scores the means over the
    seeds, and deviations are over splits. The probe's settings are those of the checkpoint's own recipe.
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
    about: dict[str, Any] = {"name": dataset.name, **dict(dataset.summary())}
    if all("splits" in run for run in runs):
        runs = _of_splits([run["splits"] for run in runs])
        about |= {"repeats": len(runs), "overlap": _overlap(dataset)}
        logger.info("%s has %d splits: all are scored; deviations are over splits", dataset.name, len(runs))
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
        data=about,
        seconds=time.monotonic() - began,
        peak_bytes=peak_bytes(str(used)),
        hardware=hardware(str(used)),
        versions=versions(),
    )


def _of_splits(tables: Sequence[Mapping[str, Sequence[Mapping[str, float]]]]) -> list[dict[str, Any]]:
    """One entry for every split, scores the means over seeds; `tables` has row → scores in every split, per seed."""
    first = tables[0]
    return [
        {
            "seed": number,
            "rows": {
                row: {key: statistics.fmean(table[row][number][key] for table in tables) for key in splits[number]}
                for row, splits in first.items()
            },
        }
        for number in range(len(next(iter(first.values()))))
    ]


def _overlap(dataset: Any) -> float:
    """The size of a test split over that of a training split, on average."""

    def count(each: Any, split: str) -> int:
        return sum(int(mask.sum()) for _, mask in each.splits[split])

    return statistics.fmean(count(each, "test") / count(each, "train") for each in dataset.each_split())


def evaluation_settings(model: object, overrides: list[str]) -> Evaluation:
    """Those of the checkpoint's own run where it is known, else the defaults; changed by `evaluation.*` overrides."""
    if other := [text for text in overrides if not text.startswith("evaluation.")]:
        raise InputError(f"the encoder is fixed: only evaluation.* can be set here, not {other[0]!r}")
    base: Mapping[str, Any] = config.load("default").to_dict()
    stored = RunFolder(pretrained.find_checkpoint(model)).stored_recipe() if isinstance(model, str | Path) else None
    if stored is not None:
        base = {**base, "evaluation": stored.get("evaluation", {})}
    return config.load(base, overrides).evaluation
