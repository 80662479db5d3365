"""Every kind of file the program reads: how a small one is made, and what opening it gives."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

import graphmae as gm
from graphmae import config, decoders, encoders, losses, masking
from graphmae.batching import GraphStore
from graphmae.batching.sampling import InducedSampler, NeighbourSampler
from graphmae.data import cache, load
from graphmae.data.benchmarks.tu import load_tu
from graphmae.data.files import from_data, read_graph
from graphmae.data.molecules import from_smiles, read_assay, stored
from graphmae.data.ondisk import StoredGraph
from graphmae.data.tables import from_tables
from graphmae.finetuning.predictor import Predictor
from graphmae.pretrained import from_published
from graphmae.pretrained.predictor import load_predictor, save_predictor
from graphmae.results import Result
from graphmae.training.state import Outcome, Progressed, TrainingState
from raw_files import write_arxiv, write_planetoid, write_ppi, write_reddit, write_rings_and_stars

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "C/C=C/C", "N[C@@H](C)C(=O)O", "CCN", "C#N", "OCC(O)CO"]


@dataclass(frozen=True)
class Kind:
    """`write` makes a folder with whole files, `files` are those that are changed, `open` reads them all."""

    write: Callable[[Path], object]
    open: Callable[[Path], Any]
    files: str = "*"


def digest(value: Any) -> str:
    """Of whatever opening gives: tensors, arrays, objects made of them."""
    found = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, Tensor):
            add(part.detach().contiguous().numpy())
        elif isinstance(part, np.ndarray):
            found.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        elif isinstance(part, Mapping):
            for key in sorted(part, key=str):
                found.update(f"{key}:".encode())
                add(part[key])
        elif isinstance(part, list | tuple):
            for item in part:
                add(item)
        else:
            found.update(repr(part).encode())

    add(value)
    return found.hexdigest()


def graph() -> Data:
    torch.manual_seed(0)
    ring = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])
    return Data(x=torch.rand(20, 6), edge_index=torch.cat([ring, ring.flip(0)], 1), y=torch.arange(20) % 2)


def of_graph(data: Data) -> dict[str, Tensor]:
    """The tensors of a graph, after the encoder has been over them: nothing in it may point outside."""
    torch.manual_seed(0)
    encoder = encoders.GAT(int(data.x.size(1)), hidden_channels=4, heads=1).eval()
    with torch.no_grad():
        encoder(data.x, data.edge_index)
    return {key: value for key, value in data.to_dict().items() if isinstance(value, Tensor)}


def of_nodes(dataset: Any) -> list[dict[str, Tensor]]:
    return [of_graph(each) for each in dataset.graphs]


def of_set(dataset: Any) -> Any:
    """The tensors of many graphs, batched as for training."""
    found = []
    for part in dataset.graph_sets():
        batch = GraphStore(part, torch.device("cpu")).take(torch.arange(len(part)))
        found.append([batch.x, batch.graph.edge_index if hasattr(batch.graph, "edge_index") else 0, part.edge_index])
    return found


def write_npz(folder: Path) -> None:
    np.savez_compressed(folder / "graph.npz", **{key: value.numpy() for key, value in graph().to_dict().items()})


def write_pt(folder: Path) -> None:
    torch.save(graph(), folder / "graph.pt")


def nodes_table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({
        "id": [f"n{i}" for i in range(40)], "age": rng.normal(size=40).round(3), "city": list("abca" * 10),
        "when": [f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(40)], "paid": [i % 2 == 0 for i in range(40)],
        "words": [" ".join(rng.choice(["red", "blue", "green", "fox", "dog"], 4)) + f" w{i}" for i in range(40)],
    })  # fmt: skip


def edges_table() -> pa.Table:
    return pa.table({"source": [f"n{i}" for i in range(40)], "target": [f"n{(7 * i + 3) % 40}" for i in range(40)]})


def write_csv(folder: Path, ending: str = ".csv") -> None:
    import gzip
    import zipfile

    for name, table in (("nodes", nodes_table()), ("edges", edges_table())):
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(table, sink)
        raw = sink.getvalue().to_pybytes()
        if ending == ".csv.gz":
            raw = gzip.compress(raw, mtime=0)
        if ending == ".csv.zip":
            with zipfile.ZipFile(folder / f"{name}{ending}", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"{name}.csv", raw)
        else:
            (folder / f"{name}{ending}").write_bytes(raw)


def write_jsonl(folder: Path) -> None:
    for name, table in (("nodes", nodes_table()), ("edges", edges_table())):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def write_parquet(folder: Path) -> None:
    pa.parquet.write_table(nodes_table(), folder / "nodes.parquet")
    pa.parquet.write_table(edges_table(), folder / "edges.parquet")


def write_xlsx(folder: Path) -> None:
    import openpyxl

    for name, table in (("nodes", nodes_table()), ("edges", edges_table())):
        book = openpyxl.Workbook()
        book.active.append(table.column_names)
        for row in table.to_pylist():
            book.active.append(list(row.values()))
        book.save(folder / f"{name}.xlsx")


def open_tables(folder: Path) -> Any:
    (nodes,), (edges,) = folder.glob("nodes.*"), folder.glob("edges.*")
    return of_nodes(from_tables(nodes, edges, quiet=True))


def model() -> gm.GraphMAE:
    torch.manual_seed(0)
    made = gm.GraphMAE(
        encoders.GAT(6, hidden_channels=8, heads=2), decoders.GAT(8, 6),
        masking.RandomNodeMask(), losses.ScaledCosineError(),
    )  # fmt: skip
    made.inputs = {"features": "raw", "self_loops": True}
    return made


def write_model(folder: Path) -> None:
    model().save_pretrained(folder / "model")


def open_model(folder: Path) -> Any:
    made = gm.load(folder / "model")
    return [made.state_dict(), made.inputs, gm.embed(made, from_data(graph()))]


def write_table_model(folder: Path) -> None:
    write_csv(folder)
    tables = [str(folder / "nodes.csv"), str(folder / "edges.csv")]
    made = from_tables(*tables, quiet=True)
    width = made.in_channels
    torch.manual_seed(0)
    wide = gm.GraphMAE(encoders.GAT(width, hidden_channels=8, heads=2), decoders.GAT(8, width))
    wide.inputs = dict(made.treatment)
    wide.views = encoders.Views.fit(made.pretrain_graphs(), 8)
    wide.save_pretrained(folder / "model")


def open_table_model(folder: Path) -> Any:
    made = gm.load(folder / "model")
    dataset = from_tables(folder / "nodes.csv", folder / "edges.csv", treatment=made.inputs, quiet=True)
    with torch.no_grad():
        return [made.state_dict(), gm.embed(made.encoder, dataset), made.inputs]


def write_run(folder: Path) -> None:
    """Everything one pre-training leaves, and the tables it names."""
    write_csv(folder)
    small = ["encoder.hidden_channels=8", "encoder.heads=2", "train.epochs=1", "embedding.width=8"]
    tables = [str(folder / "nodes.csv"), str(folder / "edges.csv")]
    gm.pretrain("auto", tables, overrides=small, out=folder / "run", progress=False)
    recipe = folder / "run/recipe.json"
    recipe.write_text(recipe.read_text().replace(str(folder), "."))


def open_run(folder: Path) -> Any:
    """What an embedding and the page of a run are made from."""
    with contextlib.chdir(folder):
        rows = gm.embed("run", ["nodes.csv", "edges.csv"])
        gm.report("run", "page.html")
    return rows


def write_predictor(folder: Path) -> None:
    torch.manual_seed(0)
    encoder = encoders.build("molecule-gin", in_channels=124, hidden_channels=8, num_layers=2)
    predictor = Predictor(encoder, ["toxic", "soluble"])
    predictor.inputs = {"features": "molecule", "self_loops": True}
    save_predictor(predictor, folder / "model", "roc-auc", {"last": 80.0}, {"assay": "none"})


def open_predictor(folder: Path) -> Any:
    predictor = load_predictor(folder / "model")
    molecules, _ = from_smiles(SMILES)
    assert molecules is not None
    batch = GraphStore(molecules, torch.device("cpu")).take(torch.arange(len(molecules)))
    with torch.no_grad():
        return [predictor.state_dict(), predictor.names, predictor.answer(predictor(batch))]


def write_state(folder: Path) -> None:
    made = model()
    optimizer = torch.optim.Adam(made.parameters())
    made(gm.batching.Batch(graph().x, graph().edge_index)).backward()
    optimizer.step()
    TrainingState(folder / "state.safetensors").save(Progressed(3, Outcome(0.5, 1.0, 3)), made, optimizer)


def open_state(folder: Path) -> Any:
    made = model()
    optimizer = torch.optim.Adam(made.parameters())
    progressed = TrainingState(folder / "state.safetensors").load(made, optimizer)
    return [made.state_dict(), optimizer.state_dict(), progressed]


def write_cache(folder: Path) -> None:
    (folder / "raw.txt").write_text("raw")
    open_cache(folder)


def open_cache(folder: Path) -> Any:
    """A cache of its own, whose entry is changed."""
    kept = cache.cache_root
    cache.cache_root = lambda: folder / "cache"  # type: ignore[attr-defined]
    try:
        return cache.cached("raw", {"raw": folder / "raw.txt"}, lambda: of_graph(graph()))
    finally:
        cache.cache_root = kept  # type: ignore[attr-defined]


def write_smi(folder: Path) -> None:
    (folder / "molecules.smi").write_text("".join(f"{text} name{i}\n" for i, text in enumerate(SMILES)))


def open_smi(folder: Path) -> Any:
    return of_set(stored([folder / "molecules.smi"], "molecules"))


def write_store(folder: Path) -> None:
    write_smi(folder)
    open_store(folder)


def open_store(folder: Path) -> Any:
    from graphmae.data.molecules import stored as module_of

    module = __import__(module_of.__module__, fromlist=["x"])
    kept = module.cache_root
    module.cache_root = lambda: folder / "cache"
    try:
        return of_set(stored([folder / "molecules.smi"], "molecules"))
    finally:
        module.cache_root = kept


def write_graph_store(folder: Path) -> None:
    gm.store(from_data(graph(), "ring"), folder / "ring")


def open_graph_store(folder: Path) -> Any:
    """Mapped, sampled from and read whole: nothing in it may point outside."""
    stored = StoredGraph.open(folder / "ring")
    sample = NeighbourSampler(stored.compressed(), [2, 2]).sample(np.arange(stored.num_nodes), 0)
    parts = InducedSampler(stored.compressed()).sample(np.arange(0, stored.num_nodes, 2))
    return [sample.nodes, sample.col, parts.col, of_graph(stored.single_graph()), stored.treatment]


def write_raw_arrays(folder: Path) -> None:
    """The binary layout of OGB, and GraphSAINT's."""
    data, binary, saint = graph(), folder / "binary/raw", folder / "saint/raw"
    binary.mkdir(parents=True)
    saint.mkdir(parents=True)
    nodes, (rows, columns) = len(data.x), data.edge_index.numpy()
    np.savez(binary / "data.npz", node_feat=data.x.numpy(), edge_index=data.edge_index.numpy())
    np.savez_compressed(binary / "node-label.npz", node_label=data.y.numpy().astype(np.float32))
    sp.save_npz(saint / "adj_full.npz", sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes)))
    np.save(saint / "feats.npy", data.x.numpy())
    (saint / "class_map.json").write_text(json.dumps({str(i): int(data.y[i]) for i in range(nodes)}))
    (saint / "role.json").write_text(json.dumps({"tr": list(range(nodes - 4)), "va": [nodes - 4], "te": [nodes - 1]}))


def open_raw(*folders: Path) -> Any:
    """Read a piece at a time into a store, which is then read whole."""
    found = []
    for folder in folders:
        out = folder.parent / f"{folder.name}-store"
        shutil.rmtree(out, ignore_errors=True)
        stored = gm.store(folder, out)
        found.append([of_graph(stored.single_graph()), stored.treatment, stored.splits])
    return found


def write_assay(folder: Path) -> None:
    rows = [f"{text},{i % 2},{'' if i == 3 else (i + 1) % 2}\n" for i, text in enumerate(SMILES)]
    (folder / "assay.csv").write_text("smiles,toxic,soluble\n" + "".join(rows))


def open_assay(folder: Path) -> Any:
    found = read_assay(folder / "assay.csv", targets=["toxic", "soluble"], split="random")
    return [found.targets, found.names, of_set(found.store)]


def write_published(folder: Path) -> None:
    torch.manual_seed(1)
    weights = {"enc_mask_token": torch.randn(1, 5), "encoder_to_decoder.weight": torch.randn(8, 8)}
    for prefix, given, heads, channels in (
        ("encoder.gat_layers.0.", 5, 2, 4), ("encoder.gat_layers.1.", 8, 2, 4), ("decoder.gat_layers.0.", 8, 1, 5)
    ):  # fmt: skip
        weights[prefix + "fc.weight"] = torch.randn(heads * channels, given)
        weights[prefix + "attn_l"], weights[prefix + "attn_r"] = torch.randn(2, 1, heads, channels)
        weights[prefix + "bias"] = torch.randn(heads * channels)
        if prefix.startswith("encoder"):
            weights[prefix + "activation.weight"] = torch.tensor([0.1])
    torch.save(weights, folder / "weights.pt")


def write_recipe(folder: Path) -> None:
    shutil.copy(config.library.find("node/cora")[0], folder / "mine.toml")


def write_result(folder: Path) -> None:
    runs = [{"seed": seed, "seconds": 1.0, "rows": {"pretrained": {"last": 80.0 + seed}}} for seed in range(3)]
    Result("node/cora", "accuracy", "last", runs).save(folder / "result.json")


def open_result(folder: Path) -> Any:
    found = Result.load(folder / "result.json")
    return [found.to_dict(), found.table()]


KINDS: dict[str, Kind] = {
    "planetoid": Kind(lambda f: write_planetoid(f), lambda f: of_nodes(load("cora", f))),
    "tu": Kind(lambda f: write_rings_and_stars(f / "SHAPES", 12), lambda f: of_set(load_tu(f / "SHAPES"))),
    "npz": Kind(write_npz, lambda f: of_nodes(from_data(read_graph(f / "graph.npz")))),
    "pt": Kind(write_pt, lambda f: of_nodes(from_data(read_graph(f / "graph.pt")))),
    "csv": Kind(write_csv, open_tables),
    "csv.gz": Kind(lambda f: write_csv(f, ".csv.gz"), open_tables),
    "csv.zip": Kind(lambda f: write_csv(f, ".csv.zip"), open_tables),
    "jsonl": Kind(write_jsonl, open_tables),
    "parquet": Kind(write_parquet, open_tables),
    "xlsx": Kind(write_xlsx, open_tables),
    "config": Kind(write_model, open_model, "config.json"),
    "weights": Kind(write_model, open_model, "model.safetensors"),
    "table config": Kind(write_table_model, open_table_model, "config.json"),
    "table weights": Kind(write_table_model, open_table_model, "model.safetensors"),
    "run": Kind(write_run, open_run, "run/*.json*"),
    "predictor config": Kind(write_predictor, open_predictor, "config.json"),
    "predictor weights": Kind(write_predictor, open_predictor, "model.safetensors"),
    "state": Kind(write_state, open_state),
    "cache": Kind(write_cache, open_cache, "*.safetensors"),
    "smi": Kind(write_smi, open_smi),
    "store": Kind(write_store, open_store, "cache/**/*.*"),
    "graph store": Kind(write_graph_store, open_graph_store, "ring/*.*"),
    "raw text": Kind(lambda f: write_arxiv(f), lambda f: open_raw(f / "ogbn_arxiv"), "ogbn_arxiv/**/*.gz"),
    "raw arrays": Kind(write_raw_arrays, lambda f: open_raw(f / "binary", f / "saint"), "*/raw/*.*"),
    "assay": Kind(write_assay, open_assay),
    "published": Kind(write_published, lambda f: from_published(f / "weights.pt").state_dict()),
    "recipe": Kind(write_recipe, lambda f: repr(config.load(f / "mine.toml"))),
    "result": Kind(write_result, open_result),
    "arxiv": Kind(lambda f: write_arxiv(f), lambda f: of_nodes(load("ogbn-arxiv", f))),
    "ppi": Kind(lambda f: write_ppi(f), lambda f: of_nodes(load("ppi", f))),
    "reddit": Kind(lambda f: write_reddit(f), lambda f: of_nodes(load("reddit", f))),
}
