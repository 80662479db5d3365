"""The most likely missing edges: `graphmae links --predict`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..config import Recipe
from ..data.tables import write_table
from ..data.tables.identity import own_values
from ..experiments import auto, missing_links
from ..runtime.device import resolve_device
from ..runtime.errors import InputError, unknown
from ..runtime.files import check_out
from ..runtime.seed import check_seeds
from ..training import Progress, quiet

FORMATS = (".csv", ".tsv", ".parquet")
logger = logging.getLogger("graphmae")


class MissingLink(NamedTuple):
    """Two nodes without an edge; `score` and `percentile` in percent (see `predict_links`)."""

    source: str | int
    target: str | int
    score: float
    percentile: float


def predict_links(
    data: Any,
    recipe: Recipe | str | Path = "auto",
    *,
    k: int = 20,
    node: str | int | None = None,
    seed: int = 0,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    out: str | Path | None = None,
    progress: bool = True,
) -> list[MissingLink]:
    """The `k` most likely missing edges, of the whole graph or of one `node`, the likeliest first.

    10 % of the edges are hidden, a model is pre-trained on the others (recipe "auto": default-links, MaskGAE), and it
    is learned which evidence (shared neighbours, embeddings, features, degrees) tells the hidden edges from other pairs
    of nodes that are near each other. Then all edges are shown and the pairs without one are rated.

    `score`: of 100 pairs rated this high, so many were edges when 10 % of them were hidden. `percentile`: so many of
    100 random pairs without an edge are rated lower. With `out` (.csv, .tsv, .parquet) they are also written there.
    """
    check_out(out, FORMATS)
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    used = resolve_device(device)
    made, dataset = auto.links_recipe_for(data, recipe, overrides, columns, data_root)
    ids = _ids(dataset)
    names = own_values(ids)
    texts = list(map(str, names))
    if node is not None and str(node) not in texts:
        raise InputError(unknown("node", str(node), texts[:5000])[:200])
    found = missing_links.predict(
        made,
        dataset,
        used,
        k,
        None if node is None else texts.index(str(node)),
        check_seeds([seed])[0],
        Progress() if progress else quiet,
    )
    logger.info(
        "checked with 10 %% of the edges hidden: of the %d candidates rated highest %.0f %% were hidden edges, "
        "of random pairs %.2g %%",
        k, found.checked, found.by_chance,
    )  # fmt: skip
    if out is not None:
        ends = [ids.take(pa.array(part)) for part in found.pairs]
        numbers = [pa.array(np.round(found.score, 2)), pa.array(np.round(found.percentile, 2))]
        write_table(pa.table([*ends, *numbers], list(MissingLink._fields)), Path(out))
    rows = zip(*found.pairs.tolist(), found.score.tolist(), found.percentile.tolist(), strict=True)
    return [MissingLink(names[a], names[b], score, percentile) for a, b, score, percentile in rows]


def _ids(dataset: Any) -> pa.ChunkedArray:
    """What every node of the graph is called, as the user wrote it; without ids, its number from 0."""
    ids, nodes = dataset.node_ids(), int(dataset.single_graph().num_nodes)
    if ids is None:
        return pa.chunked_array([pa.array(range(nodes))])
    return ids
