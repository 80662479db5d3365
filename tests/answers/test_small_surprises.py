"""Names and shapes that a user of PyTorch Geometric and pandas expects."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.runtime.errors import InputError


def test_no_name_is_listed_twice_and_every_listed_name_exists() -> None:
    """`dir(gm)` had data, losses, masking … twice."""
    assert len(dir(gm)) == len(set(dir(gm)))
    assert all(hasattr(gm, name) for name in dir(gm)) and set(gm.__all__) <= set(dir(gm))


def test_a_batch_can_be_made_for_a_loop_of_ones_own() -> None:
    """The guide speaks of a `Batch`, and gm.Batch did not exist."""
    batch = gm.Batch(torch.rand(3, 4), torch.tensor([[0, 1], [1, 2]]))
    model = gm.GraphMAE(gm.encoders.GCN(4, hidden_channels=8), gm.decoders.GCN(8, 4))
    assert model(batch).dim() == 0 and "Batch" in gm.__all__


def test_the_result_of_a_run_is_loaded_by_its_folder(tmp_path: Path) -> None:
    """gm.Result.load("runs/x") said "Is a directory", where every other function takes the folder."""
    small = ("train.epochs=1", "encoder.hidden_channels=8", "data.num_nodes=60", "evaluation.epochs=2")
    made = gm.run("default", [0], tmp_path / "run", overrides=[*small, "evaluation.baselines=[]"], progress=False)
    assert gm.Result.load(tmp_path / "run") == gm.Result.load(tmp_path / "run" / "result.json") == made
    assert gm.Result.load(str(tmp_path / "run")) == made
    with pytest.raises(InputError, match=r"no result\.json"):
        gm.Result.load(tmp_path / "run" / "seed-0")
    with pytest.raises(InputError, match="nowhere"):
        gm.Result.load(tmp_path / "nowhere")


@pytest.mark.parametrize(("rows", "columns"), [(12, 1), (200, 3), (2000, 60)])
def test_a_table_graph_is_printed_in_ten_lines(tmp_path: Path, rows: int, columns: int) -> None:
    """print(gm.data.from_tables(…)) gave 14,312 characters for 200 nodes."""
    draw = random.Random(0)
    names = [f"column-{number}" for number in range(columns)]
    lines = [f"p{n},{'abc'[n % 3]}," + ",".join(f"{draw.random():.3f}" for _ in names) for n in range(rows)]
    (tmp_path / "nodes.csv").write_text(f"id,topic,{','.join(names)}\n" + "\n".join(lines) + "\n")
    edges = [f"p{n},p{draw.randrange(rows)}" for n in range(rows) for _ in range(2)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    graph = gm.data.from_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="topic", quiet=True)
    text = repr(graph)
    assert str(graph) == text and 3 <= len(text.splitlines()) <= 12 and len(text) < 1200
    assert all(
        word in text
        for word in ("TableGraph", f"{rows:,} nodes", f"{graph.num_features} features", "topic", "column-0")
    )
    assert graph.num_features == graph.graphs[0].num_features == graph.in_channels


def test_other_data_sets_are_printed_in_a_few_lines_too() -> None:
    """Every data set is shown by what it is made of, not by its tensors."""
    one = gm.data.from_data(Data(x=torch.eye(30), edge_index=torch.arange(30).expand(2, -1)))
    many = gm.data.GraphSet.from_list("pairs", [Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))] * 40)
    for dataset, words in ((one, "30 nodes"), (many, "40 graphs")):
        assert words in repr(dataset) and len(repr(dataset).splitlines()) <= 10 and len(repr(dataset)) < 500
        assert dataset.num_features == dataset.in_channels
