"""What a training will need, before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..config import Recipe
from ..experiments import auto
from ..experiments import plan as planning
from ..experiments.plan import Plan
from ..runtime.device import resolve_device, with_torch_defaults


@with_torch_defaults
def plan(
    data: Any,
    recipe: Recipe | str | Path = "auto",
    *,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
) -> Plan:
    """Memory and time of pre-training `data` on this machine: the whole graph at once, by mini-batches, and in several
    processes, with the one that is recommended. A few steps of each are run where that is safe; where the graph is too
    large, of a part of it, and multiplied by how much larger it is. Nothing is written.

    >>> found = plan(["nodes.parquet", "edges.parquet"])  # doctest: +SKIP
    >>> found.recommended, found.best.command  # doctest: +SKIP
    ('full graph', 'graphmae pretrain DATA')
    """
    made, dataset = auto.recipe_for(data, recipe, overrides, columns, data_root)
    return planning.plan(made, dataset, resolve_device(device))
