"""No call changes a flag, a weight or a generator of the caller's: one model serves many threads at the same time."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

import graphmae as gm
from graphmae.pretrained import export_encoder

COLUMNS = {"label": "topic"}


def make_tables(rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    generator = np.random.default_rng(seed)
    topic = generator.integers(3, size=rows)
    nodes = pd.DataFrame({"id": [f"p{i:03d}" for i in range(rows)], "topic": np.array(["a", "b", "c"])[topic]})
    for column in range(6):
        nodes[f"number{column}"] = topic * (column % 3) + generator.normal(size=rows)
    nodes.loc[::9, "number1"] = np.nan
    ends = generator.integers(rows, size=(2, 5 * rows))
    edges = pd.DataFrame({"source": nodes["id"].to_numpy()[ends[0]], "target": nodes["id"].to_numpy()[ends[1]]})
    return nodes, edges


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in zip(("nodes", "edges"), make_tables(), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    small = ["encoder.hidden_channels=16", "encoder.heads=2", "train.epochs=2", "encoder.dropout=0.5"]
    gm.pretrain("auto", make_tables(), columns=COLUMNS, overrides=small, out=folder / "run", progress=False)
    return folder


def snapshot(model: nn.Module) -> dict[str, Any]:
    """Everything of a model and of the process that a call could leave changed."""
    flags = {name: (part.training, getattr(part, "output", None)) for name, part in model.named_modules()}
    weights = {name: (value.data_ptr(), value.device, value._version) for name, value in model.state_dict().items()}
    version, state, gauss = random.getstate()
    return {
        "flags": flags,
        "weights": weights,
        "needs gradients": {name: weight.requires_grad for name, weight in model.named_parameters()},
        "torch": torch.get_rng_state().tolist(),
        "numpy": np.random.get_state()[1].tolist(),  # type: ignore[index]
        "python": (version, state, gauss),
        "gradients": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "products": torch.get_float32_matmul_precision(),
        "anomalies": torch.is_anomaly_enabled(),
        "numpy errors": np.geterr(),
    }


CALLS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "embed": lambda model, data, _: gm.embed(model, data),
    "embed reader": lambda model, data, _: gm.embed(model.reader, data),
    "similar": lambda model, data, _: gm.similar(model, data, "p001", 5),
    "anomaly_scores": lambda model, data, _: gm.anomaly_scores(model, data),
    "anomalies": lambda model, data, _: gm.anomalies(model, data),
    "reconstruct": lambda model, data, _: gm.reconstruct(model, data),
    "impute": lambda model, _, folder: gm.impute(model, folder / "nodes.csv", folder / "edges.csv", progress=False),
    "evaluate": lambda model, data, _: gm.evaluate(model, data, overrides=["evaluation.epochs=2"]),
    "save_pretrained": lambda model, _, folder: model.save_pretrained(folder / "saved"),
    "export": lambda model, *_: export_encoder(model.encoder),
    "drift": lambda model, _, folder: gm.drift(model, [folder / "nodes.csv", folder / "edges.csv"]),
    "as_seen": lambda model, data, _: model.as_seen(data.single_graph()),
    "links": lambda _, data, __: gm.links(data, overrides=["train.epochs=1"], progress=False),
    "link_scores": lambda model, data, _: gm.link_scores(
        gm.embed(model, data), gm.split_edges(data.single_graph(), 0.2, 0)
    ),
}


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_no_call_changes_flags_weights_or_generators(name: str, is_training: bool, folder: Path) -> None:
    """`gm.embed` left the encoder in training mode: the next call of `model.encoder` gave other numbers each time."""
    model = gm.load(folder / "run")
    data = gm.data.from_tables(folder / "nodes.csv", folder / "edges.csv", treatment=model.inputs, label="topic")
    model.train(is_training)
    next(iter(model.encoder.modules())).training = not is_training  # one flag of its own, too
    before = snapshot(model)
    CALLS[name](model, data, folder)
    after = snapshot(model)
    assert {key for key in before if before[key] != after[key]} == set()


def test_one_model_serves_eight_threads(folder: Path) -> None:
    """One thread's end switched dropout on under the others: 4 to 7 of 8 calls gave rows of noise."""
    model = gm.load(folder / "run")
    data = gm.data.from_tables(folder / "nodes.csv", folder / "edges.csv", treatment=model.inputs, label="topic")
    alone = np.asarray(gm.embed(model, data)), gm.similar(model, data, "p001", 5)

    def call(number: int) -> bool:
        if number % 2:
            return gm.similar(model, data, "p001", 5) == alone[1]
        return bool(np.array_equal(np.asarray(gm.embed(model, data)), alone[0]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(48)))


@pytest.mark.parametrize("kind", ["gat", "gcn", "gin"])
def test_threads_with_a_model_in_training_mode_get_embeddings_without_dropout(kind: str) -> None:
    """A model that is being trained, or was never put into evaluation mode, is embedded with all the same."""
    data = gm.data.load("synthetic", num_nodes=80).graphs[0]
    encoder = {"gat": gm.encoders.GAT, "gcn": gm.encoders.GCN, "gin": gm.encoders.GIN}[kind]
    model = gm.GraphMAE(
        encoder(data.num_features, hidden_channels=16, dropout=0.5), gm.decoders.MLP(16, data.num_features)
    )
    want = np.asarray(gm.embed(model, data))
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: np.asarray(gm.embed(model, data)), range(16)):
            assert np.array_equal(rows, want)
    assert all(part.training for part in model.modules())


class Mixed(nn.Module):
    """What users write: a recurrent layer, a weight used twice, a method bound to the module."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.in_channels = self.out_channels = in_channels
        self.gru = nn.GRU(in_channels, in_channels)
        self.first = nn.Linear(in_channels, in_channels)
        self.second = nn.Linear(in_channels, in_channels)
        self.second.weight = self.first.weight
        self.norm, self.drop = nn.BatchNorm1d(in_channels), nn.Dropout(0.5)
        self.finish = self._finish

    def _finish(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.norm(x))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.finish(self.second(self.first(self.gru(x)[0])))


def test_an_encoder_of_ones_own_is_left_as_it_is() -> None:
    """Batch norms kept their statistics and dropout stayed off, also where a method is bound to the module."""
    torch.manual_seed(0)
    encoder = Mixed(5)
    x, edges = torch.rand(7, 5), torch.tensor([[0, 1], [1, 0]])
    before = snapshot(encoder)
    rows = gm.embed(encoder, Data(x=x, edge_index=edges))
    assert snapshot(encoder) == before
    encoder.eval()
    with torch.no_grad():
        loops = encoder(x, edges)
    assert torch.allclose(rows, loops, atol=1e-6)


def test_a_model_of_molecules_is_left_as_it_is() -> None:
    """`gm.similar` put the model it was given into evaluation mode for good."""
    pytest.importorskip("rdkit")
    model = gm.load("molecule-zinc").train()
    before, texts = snapshot(model), ["CCO", "CCN", "c1ccccc1O", "CC(=O)O"]
    rows = gm.embed(model, texts)
    assert [smiles for smiles, *_ in gm.similar(model, texts, "CCO", 2)]
    assert snapshot(model) == before
    assert torch.equal(rows, gm.embed(model.eval(), texts))


@pytest.mark.parametrize("how", ["inference mode", "compiled encoder", "compiled model"])
def test_models_as_services_have_them_are_embedded_with(how: str) -> None:
    """A model loaded in inference mode, or compiled, ended in a traceback."""
    torch.manual_seed(0)
    graph = gm.data.load("synthetic", num_nodes=60).graphs[0]
    width = graph.num_features
    with torch.inference_mode(how == "inference mode"):
        model = gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=8), gm.decoders.GAT(8, width))
    want = gm.embed(model.encoder, graph)
    if how == "compiled encoder":
        model.encoder = torch.compile(model.encoder, backend="eager")
    given = torch.compile(model, backend="eager") if how == "compiled model" else model
    assert torch.equal(gm.embed(given, graph), want)
