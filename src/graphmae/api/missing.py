"""The most likely missing edges: `graphmae links --predict`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..config import Recipe
from ..data.bipartite import find_two_sides
from ..data.naming import node_table
from ..data.tables import write_table
from ..data.tables.identity import own_values
from ..experiments import auto, missing_links
from ..runtime.device import resolve_device, with_torch_defaults
from ..runtime.errors import InputError
from ..runtime.seed import check_seeds
from ..training import Progress, quiet
from .arguments import check_output
from .nodes import row_of

logger = logging.getLogger("graphmae")


class MissingLink(NamedTuple):
    """Two nodes without an edge; `score` and `percentile` in percent, and what was to be shown of both nodes (see
    `predict_links`)."""

    source: str | int
    target: str | int
    score: float
    percentile: float
    source_shown: str = ""
    target_shown: str = ""


@with_torch_defaults
def predict_links(
    data: Any,
    recipe: Recipe | str | Path = "auto",
    *,
    k: int = 20,
    node: str | int | None = None,
    show: str = "",
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
    `show` is a column of the node table, such as names, whose cells stand beside the ids.

    In a graph with two sides, such as users and items, whose edges all go from one to the other, so do the links.
    """
    check_output("links", out, data, recipe)
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    used = resolve_device(device)
    made, dataset = auto.links_recipe_for(data, recipe, overrides, columns, data_root)
    ids = _ids(dataset)
    names = own_values(ids)
    row = None if node is None else row_of(node, names, dataset.node_ids() is not None)
    shown, graph = dataset.cells_to_show(node_table(data), show) if show else [], dataset.single_graph()
    if (sides := find_two_sides(graph.edge_index, graph.x)) is not None:
        logger.info("links: %s", sides)
        if row is not None and not sides.are_across(row, np.arange(len(names))).any():
            raise InputError(
                f"{node!r} has no edges, and no column of two values says which of the two sides it is on, so nothing "
                "can be predicted for it; add such a column, for example kind with user and item"
            )
    found = missing_links.predict(
        made,
        dataset,
        used,
        k,
        row,
        check_seeds([seed])[0],
        Progress() if progress else quiet,
    )
    logger.info(
        "checked with 10 %% of the edges hidden: of the %d candidates rated highest %.0f %% were hidden edges, "
        "of random pairs %.2g %%",
        k, found.checked, found.by_chance,
    )  # fmt: skip
    if out is not None:
        table = dict[str, Any]()
        for end, part in zip(("source", "target"), found.pairs, strict=True):
            table[end] = ids.take(pa.array(part))
            if show:
                table[f"{end}_{show}"] = pa.array([shown[i] for i in part])
        table |= {"score": np.round(found.score, 4), "percentile": np.round(found.percentile, 2)}
        write_table(pa.table(table), Path(out))
    rows = zip(*found.pairs.tolist(), found.score.tolist(), found.percentile.tolist(), strict=True)
    return [
        MissingLink(names[a], names[b], score, percentile, *(shown[i] for i in (a, b) if show))
        for a, b, score, percentile in rows
    ]


def _ids(dataset: Any) -> pa.ChunkedArray:
    """What every node of the graph is called, as the user wrote it; without ids, its number from 0."""
    ids, nodes = dataset.node_ids(), int(dataset.single_graph().num_nodes)
    if ids is None:
        return pa.chunked_array([pa.array(range(nodes))])
    return ids
