"""The points of a run's map: where they are, what is known of them, what is near, how well they are reconstructed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data import Dataset
from ..data.tables.cells import strings
from ..evaluation.label_free import spectrum
from ..evaluation.purity import neighbour_purity
from ..inference.anomalies import anomaly_scores, expected_directions
from ..inference.embedding import embed_graphs, embed_nodes
from ..inference.projection import MOST_TSNE, projections
from ..inference.reconstruction import graph_errors
from ..inference.similarity import nearest
from ..reporting.page import Facet, Points, Purity, Spectrum

MOST_NODES, MOST_MOLECULES = 20_000, 5_000  # points of a map
NEIGHBOURS = 10
UNUSUAL = 20
ROUNDS = 3  # of hiding nodes
MIN_NODES = 100  # to say what is usual for nodes of a degree
MOST_FACETS = 16
MOST_KINDS = 50  # of a category whose purity is shown
MOST_LEVELS = 250  # of text, to be a category
FEW_NUMBERS = 8  # different whole numbers: rather kinds than amounts
OF_STRUCTURE = ("split", "graph", "neighbours", "nodes", "edges", "atoms", "bonds")  # no kinds to be among
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Errors:
    """Attributes:
    error: [all points] 1 − cos between features and reconstruction, NaN where there are no features.
    score: [all points] how unusual that is for a point like it; None where that cannot be said.
    """

    error: np.ndarray
    score: np.ndarray | None


def points_of(
    encoder: nn.Module,
    dataset: Dataset,
    device: torch.device,
    *,
    reconstructs: Any = None,
    readout: Sequence[str] = ("mean",),
    nodes: Any = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[Points, Spectrum]:
    """What the page shows of an embedding.

    Args:
        reconstructs: the model, where it reconstructs features.
        nodes: the node table, whose columns are shown.
        columns: which of the columns are shown; None: all, up to 16.
    """
    of_nodes, is_molecule = dataset.task == "node", dataset.treatment.get("features") == "molecule"
    what = "node" if of_nodes else "molecule" if is_molecule else "graph"
    most = MOST_MOLECULES if is_molecule else MOST_NODES
    if of_nodes:
        found = embed_nodes(encoder, dataset, device)
        rows = torch.cat(found) if isinstance(found, list) else found
        places = np.arange(len(rows))
    else:
        places, sets = dataset.some_graphs(most)
        rows = torch.cat([embed_graphs(encoder, graphs, readout, device) for graphs in sets])
    total = len(rows) if of_nodes else dict(dataset.summary())["graphs"]
    errors = None if reconstructs is None else _errors(reconstructs, dataset, device, most)
    chosen = _sample(len(rows), most, errors, seed)
    some = rows[torch.from_numpy(chosen)]
    rank, shares = spectrum(some)
    neighbours, cosines = (part.numpy() for part in nearest(some, NEIGHBOURS))
    at = places[chosen]
    facets = _facets(dataset.facets(nodes), at, columns)
    drawings, symbols = dataset.drawings(at.tolist()) if is_molecule else ([], [])
    points = Points(
        what=what,
        total=int(total),
        ids=_ids(dataset, at, of_nodes),
        projections=projections(some.numpy(), seed),
        facets=facets,
        neighbours=neighbours,
        similarity=cosines,
        errors=None if errors is None else errors.error[chosen],
        unusual=[] if errors is None else _unusual(errors, chosen),
        purity=_purities(facets, neighbours),
        drawings=drawings,
        symbols=symbols,
        notes=_notes(what, len(chosen)),
    )
    return points, Spectrum(int(rows.size(1)), rank, shares.tolist())


def _notes(what: str, count: int) -> list[str]:
    return (
        [f"t-SNE has {MOST_TSNE:,} of them, drawn at random: more {what}s take minutes."] if count > MOST_TSNE else []
    )


def _errors(model: Any, dataset: Dataset, device: torch.device, most: int) -> Errors:
    """Of every point, of sets of graphs those `some_graphs(most)` gives."""
    if dataset.task == "node":
        graphs = list(dataset.sorted_by_id().node_graphs())
        directions = [expected_directions(model, graph, device, ROUNDS) for graph in graphs]
        errors = [_error(graph.x, found) for graph, found in zip(graphs, directions, strict=True)]
        error = dataset.from_sorted(torch.cat(errors)).numpy()
        score = None
        if len(graphs) == 1 and np.isfinite(error).sum() >= MIN_NODES:
            score = anomaly_scores(model, dataset, device, ROUNDS, expected=directions[0]).numpy()
        return Errors(error, score)
    _, sets = dataset.some_graphs(most)
    return Errors(torch.cat([graph_errors(model, graphs, device) for graphs in sets]).numpy(), None)


def _error(x: Tensor, directions: Tensor) -> Tensor:
    cosine = (nn.functional.normalize(x) * directions).sum(1) / ROUNDS
    return torch.where((x != 0).any(1), 1 - cosine, torch.nan).float()


def _sample(count: int, most: int, errors: Errors | None, seed: int) -> np.ndarray:
    """Positions of the points to show, in order: all, or some at random and the most unusual ones."""
    if count <= most:
        return np.arange(count)
    kept = np.array([], dtype=np.int64) if errors is None else _order(errors)[:UNUSUAL]
    others = np.setdiff1d(np.random.default_rng(seed).permutation(count), kept, assume_unique=True)
    drawn = np.random.default_rng(seed).permutation(others)[: most - len(kept)]
    return np.sort(np.concatenate([kept, drawn]))


def _order(errors: Errors) -> np.ndarray:
    """Points, the most unusual first; those without an error left out."""
    by = errors.error if errors.score is None else errors.score
    return np.argsort(-np.nan_to_num(by, nan=-np.inf), kind="stable")[: int(np.isfinite(by).sum())]


def _unusual(errors: Errors, chosen: np.ndarray) -> list[tuple[int, float, float | None]]:
    place = {int(point): position for position, point in enumerate(chosen)}
    out = []
    for point in _order(errors)[:UNUSUAL].tolist():
        if point in place:
            score = None if errors.score is None else float(errors.score[point])
            out.append((place[point], float(errors.error[point]), score))
    return out


def _ids(dataset: Dataset, at: np.ndarray, of_nodes: bool) -> list[str]:
    if not of_nodes and (called := dataset.graph_ids()) is not None:
        return [called[i] for i in at.tolist()]
    known = None if dataset.treatment.get("private") or not of_nodes else dataset.node_ids()
    if known is None:
        return [str(i) for i in at.tolist()]
    names = strings(known)
    return [str(names[i]) for i in at.tolist()]


def _facets(found: Mapping[str, Any], at: np.ndarray, columns: Sequence[str] | None) -> list[Facet]:
    """Columns by what they hold: kinds, amounts, or text that is only shown."""
    if columns is not None:
        found = {name: values for name, values in found.items() if name in columns}
    elif len(found) > MOST_FACETS:
        logger.info("the page has %d of %d columns; --columns A,B chooses which", MOST_FACETS, len(found))
        found = dict(list(found.items())[:MOST_FACETS])
    out = []
    for name, values in found.items():
        if isinstance(values, np.ndarray):
            out.append(_number(name, values[at]))
            continue
        texts = [values[i] for i in at.tolist()]
        different = {text for text in texts if text is not None}
        is_kind = len(different) <= min(MOST_LEVELS, max(2, len(texts) // 2))
        out.append(Facet(name, "category" if is_kind else "text", texts))
    return out


def _number(name: str, values: np.ndarray) -> Facet:
    known = np.unique(values[np.isfinite(values)])
    if len(known) <= FEW_NUMBERS and bool((known == np.rint(known)).all()):
        return Facet(name, "category", [None if value != value else f"{value:.0f}" for value in values.tolist()])
    return Facet(name, "number", values)


def _purities(facets: Sequence[Facet], neighbours: np.ndarray) -> list[Purity]:
    """Of the first categories that may say something, at most three."""
    out: list[Purity] = []
    for facet in facets:
        if facet.kind != "category" or facet.name in OF_STRUCTURE or len(out) == 3:
            continue
        kinds = list(facet.values)
        if 2 <= len({kind for kind in kinds if kind is not None}) <= MOST_KINDS:
            mean, chance, levels = neighbour_purity(neighbours, kinds)
            if levels:
                out.append(Purity(facet.name, neighbours.shape[1], mean, chance, levels))
    return out
