"""Do new tables look like those a model was trained on?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from ..data.open import open_dataset
from ..data.tables import Drift
from ..methods import Method
from ..pretrained import load
from ..runtime.device import with_torch_defaults
from ..runtime.errors import InputError


@with_torch_defaults
def drift(
    model: Method | str | Path,
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Drift:
    """What moved between the tables a model was trained on and `data`: ranges, categories, words, neighbours.

    `rows` has one entry per move, the largest first, each with its column, what was measured, its value then and now,
    and a sentence; an empty report is false. `strict` raises instead where something moved.

    >>> report = drift("runs/mine", ["nodes.csv", "edges.csv"])  # doctest: +SKIP
    >>> for row in report.rows: print(row.sentence)  # doctest: +SKIP
    price: median 31,020 where training had 22.4 to 40.1 (its middle half); 100% of the rows are outside its range, …
    """
    opened = model if isinstance(model, nn.Module) else load(model)
    if "statistics" not in opened.inputs:
        raise InputError(
            "the model has not stored what its tables were like: it was not trained on tables, or by an older version; "
            "pre-train it again on tables"
        )
    dataset = open_dataset(data, None, columns, opened.inputs, strict, quiet=True)
    return getattr(dataset, "drift", None) or Drift()
