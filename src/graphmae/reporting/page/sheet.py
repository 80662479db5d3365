"""The contract between runs and the page: all that is shown of one run, as plain values and NumPy arrays.

`experiments.collect` fills a `Sheet` from a run's folder, with the model and the data at hand; everything in this
package takes sheets and knows neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Kind = Literal["baseline", "method", "published"]


@dataclass(frozen=True)
class Setting:
    """A value of the recipe and where it came from; `is_changed` if not from the recipe that was named.

    >>> Setting("mask.rate", "0.75", "changed: the recipe has 0.5", is_changed=True).key
    'mask.rate'
    """

    key: str
    value: str
    why: str = ""
    is_changed: bool = False


@dataclass(frozen=True)
class Curve:
    """What was logged after every epoch of one training.

    Attributes:
        values: "loss", "lr" and whatever else was logged as a number → one value per epoch, NaN where there is none.
    """

    name: str
    epochs: Sequence[int]
    values: dict[str, Sequence[float]]


@dataclass(frozen=True)
class Score:
    """One row of a comparison.

    Attributes:
        interval: half the width of the 95 % interval of the mean; None where one seed cannot give it.
        group: rows of the same heading stand together.
    """

    label: str
    mean: float
    interval: float | None
    kind: Kind
    seeds: int = 1
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Cells as text, the first column a heading of its row."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Facet:
    """One column of what is known of the points.

    Attributes:
        values: [n] text (None: nothing is known) or float64 (NaN: nothing is known).
        kind: "category" and "number" can colour the map; "text" is only shown.
    """

    name: str
    kind: Literal["category", "number", "text"]
    values: Sequence[str | None] | np.ndarray


@dataclass(frozen=True)
class Purity:
    """Of one column: how many of a point's nearest neighbours are of its own kind.

    Attributes:
        levels: (kind, how many points have it, mean share of their neighbours that do, the share by chance).
    """

    facet: str
    k: int
    mean: float
    chance: float
    levels: Sequence[tuple[str, int, float, float]]


@dataclass(frozen=True)
class Points:
    """What the map shows.

    Attributes:
        what: "node", "graph" or "molecule".
        total: how many there are; the map may have a sample of them.
        projections: name → [n, 2], NaN for points that were not projected.
        neighbours, similarity: [n, k] positions of the nearest points and their cosines, the nearest first.
        errors: [n] reconstruction errors, NaN where there is none; None: the method reconstructs nothing.
        unusual: (position, error, how unusual for a point like it or None), the most unusual first.
        drawings: for molecules, one packed drawing each, b"" where there is none (`data.molecules.sketches`).
        symbols: the chemical symbols drawings point at.
    """

    what: str
    total: int
    ids: Sequence[str]
    projections: dict[str, np.ndarray]
    facets: Sequence[Facet]
    neighbours: np.ndarray
    similarity: np.ndarray
    errors: np.ndarray | None = None
    unusual: Sequence[tuple[int, float, float | None]] = ()
    purity: Sequence[Purity] = ()
    drawings: Sequence[bytes] = ()
    symbols: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Spectrum:
    """How many directions an embedding uses.

    Attributes:
        shares: of the variance, by direction, the largest first.
    """

    width: int
    effective_rank: float
    shares: Sequence[float]


@dataclass(frozen=True)
class Prediction:
    """Test molecules of one target: what was measured and what the fine-tuned model says."""

    target: str
    kind: Literal["classification", "regression"]
    measured: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True)
class Explained:
    """Test molecules whose atoms are shaded by what they contribute to the prediction.

    Attributes:
        title: what they have in common.
        molecules: of each what it is called, what was measured and what is predicted; and its picture (SVG).
    """

    title: str
    molecules: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Sheet:
    """One run on the page. Whatever a run does not have stays empty, and `notes` say why."""

    name: str
    title: str
    metric: str = ""
    facts: Sequence[tuple[str, str]] = ()
    settings: Sequence[Setting] = ()
    reasons: Sequence[str] = ()
    curves: Sequence[Curve] = ()
    scores: Sequence[Score] = ()
    tables: Sequence[Table] = ()
    sentences: Sequence[str] = ()
    points: Points | None = None
    spectrum: Spectrum | None = None
    predictions: Sequence[Prediction] = ()
    explained: Sequence[Explained] = ()
    machine: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = field(default_factory=tuple)
