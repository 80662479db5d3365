"""What a model tells of single nodes: which are alike or odd, what empty cells hold, which links are missing."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from .. import evaluation, pretrained
from ..config import Recipe
from ..data.bipartite import find_two_sides
from ..data.naming import node_table
from ..data.open import open_dataset
from ..data.tables import read_table
from ..data.tables.identity import in_own_type, own_values
from ..data.tables.reading import is_from_text
from ..experiments import auto
from ..experiments import pretrain as pretraining
from ..inference import imputation
from ..inference.anomalies import anomaly_scores
from ..inference.embedding import embed_graph, pair_scorer
from ..inference.imputation import Filled
from ..inference.reconstruction import reconstructing
from ..inference.rewriting import write_filled
from ..methods import Method
from ..results import Result
from ..runtime.device import numerics, resolve_device, with_torch_defaults
from ..runtime.environment import hardware, peak_bytes, versions
from ..runtime.errors import ConfigError, InputError, unknown
from ..runtime.files import replacing
from ..runtime.lines import line_writer
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Progress, quiet
from .arguments import check_output
from .embedding import embed
from .molecules import similar_molecules

RANDOM_PAIRS = 20_000  # a percentile is counted among
MAX_COMPARED = 5000  # ids that a misspelt one is compared with
logger = logging.getLogger("graphmae")


def _opened(
    model: str | Path | Method, data: Any, columns: Mapping[str, str] | None, root: str | Path | None = None
) -> tuple[Method, Any, list[Any]]:
    """The model, its graph, and what every row is called: its id in its own type, or its number as text."""
    opened = model if isinstance(model, Method) else pretrained.load(model)
    dataset = open_dataset(data, root, columns, opened.inputs)
    graph, ids = dataset.single_graph(), dataset.node_ids()
    names = [str(i) for i in range(int(graph.num_nodes))] if ids is None else own_values(ids)
    return opened, dataset, names


def row_of(node: str | int, ids: Sequence[str | int], has_ids: bool) -> int:
    """The row of a node by its id, of either type; ids there are, where there is none of this name."""
    names, wanted = list(map(str, ids)), str(node)
    if wanted in names:
        return names.index(wanted)
    if not has_ids:
        raise InputError(f"unknown node {wanted!r}; nodes are numbered from 0 to {len(names) - 1}")
    folded = {name.casefold(): name for name in names}
    close = [folded[alike] for alike in difflib.get_close_matches(wanted.casefold(), list(folded)[:MAX_COMPARED], n=1)]
    hint = f"did you mean {close[0]!r}? The" if close else "the"
    examples = ", ".join(map(repr, ids[:3]))
    raise InputError(f"unknown node {wanted!r}; {hint} ids of the {len(names):,} nodes are like {examples}")


@with_torch_defaults
def similar(
    model: str | Path | Method,
    data: Any,
    node: str | int,
    k: int = 10,
    *,
    show: str = "",
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str | None = None,
) -> list[tuple[Any, ...]]:
    """The `k` nodes whose embeddings point most nearly the same way as that of `node`: (id, cosine, percentile), exact.

    The percentile says how many of 100 random pairs of nodes have a lower cosine (20,000 are drawn). With `show`, a
    column of the node table, such as names, rows are (id, what that column has, cosine, percentile).

    With a model of molecules, `data` is a file of them or a list of SMILES, and `node` a SMILES string, which need not
    be among them: (SMILES, name, cosine, percentile, Tanimoto similarity of ECFP4).
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    loaded = model if isinstance(model, Method) else pretrained.load(model)
    if loaded.inputs.get("features") == "molecule":
        if show:
            raise InputError("--show names a column of a node table; molecules are listed with their names")
        return similar_molecules(loaded, data, str(node), k, device)
    opened, dataset, names = _opened(loaded, data, columns, data_root)
    row = row_of(node, names, dataset.node_ids() is not None)
    shown = dataset.cells_to_show(node_table(data), show) if show else []
    z = F.normalize(embed(opened, dataset, device=device), dim=1)
    alike = z @ z[row]
    alike[row] = -2
    best = alike.topk(min(k, len(names) - 1))
    one, other = torch.randint(len(z), (2, RANDOM_PAIRS), generator=torch.Generator().manual_seed(0))
    apart = one != other
    usual = (z[one[apart]] * z[other[apart]]).sum(1).sort().values
    percent = 100 * torch.searchsorted(usual, best.values) / max(len(usual), 1)
    found = zip(best.indices.tolist(), best.values.tolist(), percent.tolist(), strict=True)
    return [(names[i], *shown[i : i + 1], cosine, percentile) for i, cosine, percentile in found]


@with_torch_defaults
def anomalies(
    model: str | Path | Method,
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    rounds: int = 5,
    out: str | Path | None = None,
) -> list[tuple[Any, float]]:
    """(id, score) of every row in its order: how little a node's features fit its surroundings; 0 is usual, 2 rare.

    Nodes are compared with those of the same degree and with as much in their row.
    With `out` (.csv) they are also written there.
    """
    check_output("anomalies", out, model, data)
    opened, dataset, names = _opened(model, data, columns, data_root)
    found = anomaly_scores(reconstructing(opened), dataset, resolve_device(device), rounds)
    scores = list(zip(names, found.tolist(), strict=True))
    if out is not None:
        with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            line = line_writer()
            file.write(line([dataset.id_name, "anomaly"]))
            file.writelines(line([name, "" if value != value else f"{value:.6g}"]) for name, value in scores)
    return scores


@with_torch_defaults
def impute(
    model: str | Path | Method,
    nodes: str | Path,
    edges: Any,
    *,
    columns: Mapping[str, str] | None = None,
    device: str = "auto",
    out: str | Path | None = None,
    progress: bool = True,
) -> tuple[Any, list[Filled]]:
    """The node table (an Arrow table) with empty cells filled, and for every column how good such values are.

    The model's values are taken where they are better than the mean or the most frequent value by more than chance.
    With `out` (.csv, .tsv, .parquet) the table is also written there, cells that were not empty as they are.
    """
    check_output("impute", out, model, nodes, edges)
    edge_files = [edges] if isinstance(edges, str | Path) else list(edges)
    opened, dataset, _ = _opened(model, [nodes, *edge_files], columns)
    before = read_table(nodes, lambda names: [dataset.id_name])
    if is_from_text(before):
        ids = in_own_type(before.column(dataset.id_name))
        before = before.set_column(before.column_names.index(dataset.id_name), dataset.id_name, ids)
    table, filled = imputation.impute(reconstructing(opened), dataset, before, resolve_device(device), progress)
    if out is not None:
        write_filled(Path(nodes), Path(out), before, table, filled)
    return table, filled


@with_torch_defaults
def links(
    data: Any,
    recipe: Recipe | str | Path = "auto",
    seeds: Sequence[int] = (0,),
    *,
    overrides: Iterable[str] = (),
    way: str = "auto",
    share: float = 0.1,
    negatives: str = "uniform",
    held_out: str = "auto",
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    progress: bool = True,
) -> Result:
    """Link prediction, properly: a `share` of the edges is taken away before pre-training begins, and then predicted.

    The recipe "auto" is default-links: MaskGAE, which learns from hidden edges. 5 % more of the edges choose how pairs
    are scored (see `graphmae.link_scores`), in most cases by weighing embeddings and simple scores together. Pairs that
    are not edges are drawn evenly or, with `negatives="hard"`, among those that share a neighbour.

    `held_out` says which edges are taken away: "random" ones, or by "time", the newest; "auto": by time where edges
    have times.

    In a graph with two sides, such as users and items, whose edges all go from one to the other, pairs are drawn across
    them, "hard" ones three edges apart.

    Rows: simple scores of the edges alone, raw features, the same encoder untrained, the pre-trained one. Every seed
    has its own edges and its own pre-training.
    """
    used, numbers = resolve_device(device), check_seeds(seeds)
    if way not in (*evaluation.LINK_WAYS, "own"):
        raise ConfigError(unknown("way to score links", way, (*evaluation.LINK_WAYS, "own")))
    if recipe == auto.AUTO:
        logger.info(
            "links: MaskGAE, which learns from hidden edges (recipe %s); GraphMAE is --recipe default", auto.LINKS
        )
    if held_out not in (auto.AUTO, *evaluation.HELD_OUT):
        raise ConfigError(unknown("way to hold edges out", held_out, (auto.AUTO, *evaluation.HELD_OUT)))
    made, dataset = auto.links_recipe_for(data, recipe, overrides, columns, data_root)
    graph, runs = dataset.single_graph(), []
    if (sides := find_two_sides(graph.edge_index, graph.x)) is not None:
        logger.info(
            "links: %s. They share no neighbours, so paths of three edges stand in for common neighbours, Adamic-Adar "
            "and Katz", sides,
        )  # fmt: skip
    if held_out == auto.AUTO:
        held_out = "time" if "edge_time" in graph else "random"
    if held_out == "time":
        logger.info("links: the newest %.0f %% of the edges are predicted (--held-out random draws them)", 100 * share)
    for seed in numbers:
        split = evaluation.split_edges(graph, share, seed, negatives=negatives, held_out=held_out)
        seen = dataset.with_graph(split.graph)
        split = replace(split, graph=seen.single_graph())
        display = Progress() if progress else quiet
        trained = pretraining.pretrain_once(made, seen, seed, used, display=display, label=f"links, seed {seed}")
        with numerics(used), torch.no_grad(), preserved_randomness(seed):
            fresh = evaluation.settled(pretrained.fresh_encoder(trained), seen, used)
            code = embed_graph(trained.reader, split.graph, used)
            simple = evaluation.simple_scores_of(split)
            rows = evaluation.simple_rows(split)
            plain = way if way != "combined" else auto.AUTO
            rows["raw"] = evaluation.link_scores(split.graph.x, split, plain)
            of_fresh = embed_graph(fresh, split.graph, used)
            rows["untrained"] = evaluation.link_scores(
                of_fresh, split, way if way != "own" else auto.AUTO, beside=simple
            )
            own = pair_scorer(trained.cpu(), embed_graph(trained.encoder, trained.as_seen(split.graph), used))
            rows["pretrained"] = evaluation.link_scores(code, split, way, own=own, beside=simple)
        runs.append({"seed": seed, "rows": rows})
    return Result(
        recipe=f"links of {dataset.name}",
        metric="roc-auc",
        rule="roc-auc",
        runs=runs,
        config=made.to_dict(),
        data={"name": dataset.name, **dict(dataset.summary())},
        peak_bytes=peak_bytes(str(used)),
        hardware=hardware(str(used)),
        versions=versions(),
    )
