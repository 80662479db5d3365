"""The opener: whatever holds a graph, or many, becomes a data set here. Every verb uses it."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from scipy.sparse import coo_matrix
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.data import Dataset as PyGDataset

from ..runtime.errors import ConfigError, DataError, InputError
from . import benchmarks, facts, naming, ondisk  # noqa: F401  each registers its sets
from .dataset import REGISTRY, Dataset
from .files import from_data, read_graph
from .graphset import GraphSet
from .molecules import cached, reading  # noqa: F401  as above
from .naming import is_named
from .objects import from_networkx, from_scipy
from .scaling import Features
from .tables import TableGraph, from_tables
from .tables.dataset import encoding_of

logger = logging.getLogger("graphmae")
Nothing: Mapping[str, Any] = {}


def open_dataset(
    source: Any,
    root: str | Path | None = None,
    columns: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    strict: bool = False,
    quiet: bool = False,
) -> Dataset:
    """A data set, ready for training, from anything that holds one:

    the name of a registered set; the path of a graph file, of molecules, of a folder with TU files; the paths of a
    node table and edge tables; a PyG `Data`, a list, `Batch` or `Dataset` of them (one set of graphs); a NetworkX
    graph; a pair (x, adjacency), (x, edge_index) or (node table, edge table) in memory; or a data set.

    Args:
        root: the folder with benchmark data.
        columns: which columns of tables are id, source, target, label and split; by default those of training. Also
            duplicates: which row counts where several have one id ("first", "last"; "refuse").
        inputs: how the model this is for was trained (`model.inputs`): features are treated the same way.
        strict: refuse tables that have moved since training; otherwise that is reported.
        quiet: report nothing.

    >>> open_dataset((np.eye(3), np.array([[0, 1], [1, 2]]))).graphs[0].x.shape
    torch.Size([3, 3])
    """
    inputs, columns = inputs or Nothing, {key: value for key, value in (columns or {}).items() if value}
    if strict and inputs.get("features") != "table":
        raise InputError("strict compares tables with those of training, and the model was not trained on tables")
    if inputs.get("features") == "molecule" and _are_strings(source):
        return cached.stored_texts(list(source), "molecules", bool(inputs.get("standardize")))
    if is_named(source):
        return _by_name_or_path(source, root, columns, inputs, strict, quiet)
    found = _in_memory(source, columns, inputs, strict)
    if isinstance(found, TableGraph) and found is not source and not quiet:
        found.report.log_warnings()
        if found.drift:
            found.drift.warn()
    if columns and not isinstance(found, TableGraph):
        raise InputError("columns are those of tables")
    return found


def load(name: str, root: str | Path | None = None, **options: Any) -> Any:
    """A registered set by name, with its published treatment unless the options say otherwise.

    A `NodeDataset`, or for sets of many graphs a `GraphSet`.

    >>> load("synthetic").graphs[0].num_nodes
    1500
    """
    return REGISTRY.build(name, root=root, **options)


@REGISTRY.register("memory")
def memory(root: str | Path | None = None) -> Dataset:
    """Data that was handed over in memory, from Python."""
    raise DataError("this recipe was run on data in memory; set data.name to a data set's name, or pass the data again")


def section_of(sources: str | Path | Sequence[str | Path]) -> dict[str, Any]:
    """What a recipe's [data] says for the name of a registered set, the path of a graph file, or those of tables."""
    section = naming.section_of(sources, REGISTRY.names())
    if section["name"] == "raw":
        path = section["path"]
        raise InputError(f"{path} has the raw files of a large graph; first: graphmae store {path} --out FOLDER")
    return section


def _by_name_or_path(
    source: str | Path | Sequence[str | Path],
    root: str | Path | None,
    columns: Mapping[str, Any],
    inputs: Mapping[str, Any],
    strict: bool,
    quiet: bool,
) -> Dataset:
    """Options the set does not know are left aside: they were another set's."""
    section = section_of(source)
    if inputs.get("features") == "molecule" and section["name"] == "tables" and "nodes" not in section:
        section = {"name": "smiles", "path": section["edges"][0]}  # a table of molecules
    if section["name"] == "tables":
        return from_tables(
            section.get("nodes"), section["edges"], treatment=_of_tables(inputs), strict=strict, quiet=quiet,
            **columns,
        )  # fmt: skip
    if columns:
        raise DataError("columns (--id, --source, --target, --label, --split) are those of tables")
    if section["name"] == "store":
        return _stored(section["path"], inputs)
    if inputs.get("features") == "table":
        raise DataError("the model was trained on tables: give it a node table and an edge table")
    path = source if isinstance(source, str | Path) else source[0]
    if section["name"] == "file":
        return from_data(read_graph(path), Path(path).stem, **of_one_graph(inputs))
    name, known = section["name"], REGISTRY.options(section["name"])
    wanted = {k: v for k, v in inputs.items() if k in known} | {k: v for k, v in section.items() if k != "name"}
    try:
        dataset: Dataset = REGISTRY.build(name, root=root, **wanted)
    except ConfigError as error:
        if "features" in wanted and "data.features" in str(error):
            kind = wanted["features"]
            raise DataError(f"the model was trained on features of the kind {kind!r}; {path} has none of it") from None
        raise
    return dataset


def _are_strings(source: Any) -> bool:
    """Whether this is a list of SMILES strings, not of paths."""
    several = isinstance(source, Sequence) and not isinstance(source, str) and len(source) > 0
    return several and all(isinstance(part, str) for part in source) and not any(map(_is_file, source))


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long SMILES string is no name of a file
        return False


def _stored(path: str, inputs: Mapping[str, Any]) -> Dataset:
    """A graph on disk; its features must have been made as the model's were."""
    stored = ondisk.StoredGraph.open(path)
    if inputs and encoding_of(stored.treatment) != encoding_of(inputs):
        raise InputError(
            f"{path} was not encoded as the model's data was: store its tables again with --like and the folder of the "
            "model"
        )
    return stored


def _of_tables(inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How tables are treated for a model with these inputs; None: as found in the tables."""
    if inputs.get("features") is not None and inputs["features"] != "table":
        raise DataError("the model was not trained on tables; give it data of the kind it was trained on")
    return inputs if inputs.get("features") == "table" else None


def of_one_graph(options: Mapping[str, Any]) -> dict[str, Any]:
    """How a single graph is treated for a model with these inputs; features of sets of graphs come with the graph."""
    wanted = {key: value for key, value in options.items() if key in ("features", "self_loops", "moments")}
    return wanted if wanted.get("features") in get_args(Features) else {**wanted, "features": "raw"}


def _in_memory(source: Any, columns: Mapping[str, Any], inputs: Mapping[str, Any], strict: bool) -> Dataset:
    if isinstance(source, TableGraph) and inputs:
        if encoding_of(source.treatment) != encoding_of(inputs):
            raise InputError(
                "this graph was not encoded as the model's was: make it with from_tables(…, treatment=model.inputs)"
            )
        if strict and source.drift:
            raise DataError(source.drift.refusal())
    if isinstance(source, Dataset):
        return source
    if isinstance(source, Batch):
        return _set_of(source.to_data_list(), inputs)
    if isinstance(source, Data):
        return from_data(_without_graph_label(source), **of_one_graph(inputs))
    if isinstance(source, tuple | list) and len(source) > 1 and all(map(_is_table, source)):
        nodes, *edges = source
        return from_tables(nodes, edges, treatment=_of_tables(inputs), quiet=True, strict=strict, **columns)
    if isinstance(source, tuple) and len(source) == 2 and not all(isinstance(part, Data) for part in source):
        return _pair(*source, columns, inputs, strict)
    if isinstance(source, Sequence | PyGDataset):
        return _set_of([source[i] for i in range(len(source))], inputs)
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return from_networkx(source, treatment=_of_tables(inputs), quiet=True, strict=strict, **columns)
    ways = (
        "the name of a data set, a path, a PyG Data, a list of them, a NetworkX graph, a pair (x, adjacency) or "
        "(nodes, edges), or from_tables(…)"
    )
    raise DataError(f"a graph must be {ways}, not {type(source).__name__}")


def _is_table(part: Any) -> bool:
    """A path, a data frame, an Arrow table, or a dictionary of columns."""
    has_columns = hasattr(part, "columns") or hasattr(part, "column_names")
    return isinstance(part, str | Path | Mapping) or (has_columns and not isinstance(part, Data))


def _pair(x: Any, edges: Any, columns: Mapping[str, Any], inputs: Mapping[str, Any], strict: bool) -> Dataset:
    """(node table, edge table) in memory, (features, adjacency matrix) or (features, edge_index [2, E])."""
    if _is_table(x):
        return from_tables(x, edges, treatment=_of_tables(inputs), quiet=True, strict=strict, **columns)
    treated = of_one_graph(inputs)
    if isinstance(edges, Tensor) and edges.layout != torch.strided:
        entries = edges.detach().cpu().to_sparse_coo().coalesce()
        edges = coo_matrix((entries.values().numpy(), entries.indices().numpy()), shape=tuple(edges.shape))
    if hasattr(edges, "tocoo"):
        return from_scipy(edges, _array(x), **treated)
    pairs, rows = _array(edges), _array(x)
    if pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1] != 2:
        return from_scipy(coo_matrix(pairs), rows, **treated)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise DataError(f"of (x, edges), edges must be an adjacency matrix or [2, edges], not {pairs.shape}")
    return from_data(Data(x=torch.as_tensor(rows).float(), edge_index=torch.as_tensor(pairs).long()), **treated)


def _array(values: Any) -> np.ndarray:
    """As NumPy has it; what is sparse is written out."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().to_dense().numpy()
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def _set_of(graphs: Sequence[Any], inputs: Mapping[str, Any]) -> GraphSet:
    """Each graph treated as a single one would be; their own labels `y`, where all have one."""
    if not graphs:
        raise InputError("the list of graphs is empty")
    if wrong := [type(item).__name__ for item in graphs if not isinstance(item, Data)]:
        raise InputError(f"a list must hold PyG Data, or a node table and edge tables, not {wrong[0]}")
    if any("edge_weight" in graph for graph in graphs):
        logger.warning(
            "edge_weight is left aside: sets of graphs have none; as a column of edge_attr it is learned from"
        )
    widths = [graph.edge_attr.shape[1:] for graph in graphs if isinstance(graph.get("edge_attr"), Tensor)]
    treated = []
    for number, graph in enumerate(graphs):
        own = _without_graph_label(graph)
        if widths and "edge_attr" not in own and not own.num_edges:
            own.edge_attr = torch.zeros(0, *widths[0])
        found = from_data(own, f"graph {number}", **of_one_graph(inputs))
        one, treatment = found.graphs[0], found.treatment
        treated.append(Data(**{key: one[key] for key in ("x", "edge_index", "edge_attr") if key in one}))
    labels = [graph.get("y") for graph in graphs]
    if all(isinstance(label, Tensor) and label.numel() == 1 for label in labels):
        for graph, label in zip(treated, labels, strict=True):
            graph.y = label
    return replace(GraphSet.from_list("graphs", treated), treatment=treatment)


def _without_graph_label(graph: Data) -> Data:
    """A copy; a single label is the graph's, not its nodes'."""
    out, label, x = copy.copy(graph), graph.get("y"), graph.get("x")
    if isinstance(label, Tensor) and label.numel() == 1 and not (isinstance(x, Tensor) and len(x) == 1):
        del out.y
    return out
