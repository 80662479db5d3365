"""Empty cells: the model only where it is better than chance, values as exact as the column's own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

import graphmae as gm
from graphmae.data import from_tables
from graphmae.inference import imputation
from graphmae.inference.imputation import Filled

NODES = 600


@pytest.fixture(scope="module")
def filled() -> tuple[pa.Table, dict[str, Filled], np.ndarray, pa.Table]:
    """Three groups of nodes, joined inside of a group; some columns go with the group, one with nothing."""
    rng = np.random.default_rng(0)
    group = np.arange(NODES) % 3
    empty = rng.random((NODES, 7)) < 0.1
    days = np.datetime64("2020-01-01") + 100 * group + rng.integers(5, size=NODES)
    columns = {
        "id": np.arange(NODES),
        "year": 1990 + 10 * group + rng.integers(3, size=NODES),
        "price": np.round(10.0 * group + rng.random(NODES), 2),
        "noise": np.round(rng.random(NODES), 2),
        "dice": rng.integers(3, size=NODES).astype(str),
        "kind": np.array(["a b", "B", "c"])[group],
        "day": days,
        "flag": group == 1,
    }
    masks = dict(zip([name for name in columns if name != "id"], empty.T, strict=True))
    table = pa.table({name: pa.array(cells, mask=masks.get(name)) for name, cells in columns.items()})
    source = rng.integers(NODES, size=4000)
    target = rng.integers(NODES // 3, size=4000) * 3 + group[source]
    graph = from_tables(table, {"source": source, "target": target}, quiet=True)
    torch.manual_seed(0)
    width = graph.in_channels
    model = gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=16, heads=2), gm.decoders.GAT(16, width))
    gm.pretrain(model, graph, epochs=20, progress=False, device="cpu")
    after, done = imputation.impute(model, graph, table)
    return after, {column.column: column for column in done}, group, table


def test_the_model_is_taken_where_it_is_better_by_more_than_chance(filled: tuple) -> None:
    _, columns, _, _ = filled
    assert {name for name, column in columns.items() if column.by_model} == {"year", "price", "kind", "day", "flag"}
    assert columns["price"].score > 0.9 and columns["kind"].score > 0.9
    assert abs(columns["noise"].score) < 0.1 and abs(columns["noise"].plain) < 0.01


def test_the_simple_fill_is_one_value(filled: tuple) -> None:
    _, columns, _, table = filled
    known = [value for value in table.column("noise").to_pylist() if value is not None]
    assert set(columns["noise"].values) == {round(float(np.mean(known)), 2)}
    assert len(set(columns["dice"].values)) == 1


def test_values_are_as_exact_as_those_of_the_column(filled: tuple) -> None:
    after, _, group, before = filled
    assert after.schema == before.schema and all(column.null_count == 0 for column in after.columns)
    assert all(value == round(value, 2) for value in after.column("price").to_pylist())
    years = np.array(after.column("year").to_pylist())
    assert (abs(years - (1991 + 10 * group)) <= 4).mean() > 0.95
    right = [day.year == 2020 for day in after.column("day").to_pylist()]
    assert all(right)


def test_known_cells_are_as_they_were(filled: tuple) -> None:
    after, _, _, before = filled
    for name in before.column_names:
        pairs = zip(before.column(name).to_pylist(), after.column(name).to_pylist(), strict=True)
        assert all(old is None or old == new for old, new in pairs)


def test_a_gain_within_chance_is_none() -> None:
    rng = np.random.default_rng(1)
    losses = rng.random(200)
    assert not imputation._better([losses, losses - 0.002 * rng.standard_normal(200)])[1]
    assert imputation._better([losses, losses + 0.1, losses - 0.1]) == (1, True)
    assert not imputation._better([losses, losses])[1]


def test_levels_taken_together_are_never_filled_in() -> None:
    """Of 400 levels the 256 most frequent are told apart; the others share a feature and no spelling."""
    rng = np.random.default_rng(0)
    rare = [f"rare {i}" for i in range(300)]
    usual = [f"kind {i}" for i in range(150)]
    names = [*rare, *(usual[i] for i in rng.integers(150, size=600))]
    cells = [None if i % 9 == 0 else name for i, name in enumerate(names)]
    nodes = {"id": list(range(900)), "name": cells, "size": rng.random(900).tolist()}
    ends = {"source": rng.integers(900, size=900), "target": rng.integers(900, size=900)}
    graph = from_tables(nodes, ends, kinds={"name": "category"}, quiet=True)
    torch.manual_seed(0)
    width = graph.in_channels
    model = gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=8), gm.decoders.GAT(8, width))
    _, (filled,) = imputation.impute(model, graph, pa.table(nodes))
    levels = set(next(column for column in graph.columns if column.name == "name").learned["levels"])
    assert len(levels) == 256 and set(filled.values) <= levels
