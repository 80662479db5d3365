"""Whatever is in the files: a correct graph or one clear message, never a traceback."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmae.data import from_tables
from graphmae.runtime.errors import InputError

IDS = st.sampled_from(
    ["a", "b", "c", "7", "007", "7.0", " a ", "", "NA", "é", "9" * 40, "-1", "1e3", "true", "x,y", '"']
)
CELLS = st.one_of(
    st.sampled_from(["", "NA", "nan", "inf", "-inf", "1e400", "0", "1", "yes", "no", "2020-01-01", "9" * 400, "1_000"]),
    st.integers(-(10**30), 10**30).map(str),
    st.floats(allow_nan=True).map(str),
    st.text(max_size=12),
)
NAMES = st.sampled_from(
    ["id", "node_id", "name", "age", "age", "", "source", "target", "src", "dst", "type", "x y", "é"]
)
SEPARATORS = st.sampled_from([",", ",", ",", ";", "\t", "|", " ", ":"])


def lines(cells: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """A text table that is sometimes one, sometimes not quite."""

    @st.composite
    def made(draw: st.DrawFn) -> bytes:
        separator, width = draw(SEPARATORS), draw(st.integers(0, 5))
        header = draw(st.lists(NAMES, min_size=width, max_size=width))
        rows = draw(st.lists(st.lists(cells, min_size=max(0, width - 1), max_size=width + 1), max_size=12))
        end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
        text = end.join(separator.join(row) for row in [header, *rows]) + draw(st.sampled_from(["", end]))
        raw = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"])), errors="ignore")
        return draw(st.sampled_from([b"", b"", b"", b"\xff", b"\0", b'"', b"# comment\n"])) + raw

    return made()


def check(nodes: Path, edges: Path, **options: str) -> None:
    try:
        graph = from_tables(nodes, edges, quiet=True, **options)
    except InputError as error:
        assert str(error).strip() and "Traceback" not in str(error)
        return
    data = graph.graphs[0]
    assert torch.isfinite(data.x).all() and data.x.size(1) > 0
    assert int(data.edge_index.min()) >= 0 and int(data.edge_index.max()) < data.x.size(0)
    assert len(graph.ids) == data.x.size(0)  # type: ignore[arg-type]
    again = from_tables(nodes, edges, quiet=True, treatment=graph.treatment)
    assert torch.equal(again.graphs[0].x, data.x) and not again.drift
    assert sum(column.width for column in graph.columns) <= data.x.size(1)


@given(
    nodes=lines(st.one_of(IDS, CELLS)),
    edges=lines(st.one_of(IDS, IDS, CELLS)),
    suffix=st.sampled_from([".csv", ".tsv"]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_two_files(tmp_path: Path, nodes: bytes, edges: bytes, suffix: str) -> None:
    one, other = tmp_path / f"nodes{suffix}", tmp_path / f"edges{suffix}"
    one.write_bytes(nodes)
    other.write_bytes(edges)
    check(one, other)


@given(
    ids=st.lists(IDS, min_size=1, max_size=10, unique=True) | st.lists(IDS, min_size=1, max_size=10),
    cells=st.lists(CELLS, min_size=10, max_size=10),
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20),
    strays=st.lists(st.tuples(IDS, IDS), max_size=1),
    label=st.sampled_from(["", "age", "nope"]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nearly_right_tables(
    tmp_path: Path,
    ids: list[str],
    cells: list[str],
    pairs: list[tuple[int, int]],
    strays: list[tuple[str, str]],
    label: str,
) -> None:
    """Columns as they should be, with anything in them."""
    known = [(ids[a % len(ids)], ids[b % len(ids)]) for a, b in pairs]
    with (tmp_path / "n.csv").open("w", newline="", encoding="utf-8", errors="ignore") as file:
        csv.writer(file).writerows([["id", "age", "city"], *([i, c, c] for i, c in zip(ids, cells, strict=False))])
    with (tmp_path / "e.csv").open("w", newline="", encoding="utf-8", errors="ignore") as file:
        csv.writer(file).writerows([["source", "target"], *known, *strays])
    check(tmp_path / "n.csv", tmp_path / "e.csv", label=label)


@given(raw=st.binary(max_size=400), suffix=st.sampled_from([".csv", ".parquet", ".csv.gz", ".txt", ".xlsx", ""]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes(tmp_path: Path, raw: bytes, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(raw)
    check(path, path)
    with pytest.raises(InputError):
        from_tables(tmp_path, path, quiet=True)
