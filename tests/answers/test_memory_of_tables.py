"""What a table takes in memory is bounded by its size, however long one cell and however wide its header is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas
import pyarrow.parquet
import pytest

from graphmae.data import from_tables
from graphmae.runtime.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1]))
from commands import graphmae

# Reads tables in a process of its own, and prints by how much the memory it ever took grew, in MB, and what it has.
MEASURE = """
import json, pathlib, resource, sys
from graphmae.data import from_tables
from graphmae.data.tables import write_rows
import sklearn.feature_extraction.text
def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
for nodes, edges in json.loads(sys.argv[1]):
    before = most()
    try:
        graph = from_tables(nodes, edges, quiet=True)
        found = len(graph.graphs[0].x)
        write_rows(pathlib.Path(sys.argv[2]), graph.graphs[0].x.numpy(), graph.ids)
    except ValueError as error:
        found = str(error)
    print(json.dumps([most() - before, found]))
"""
ROWS, LONG = 5000, 100_000


def measure(folder: Path, files: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MEASURE, files, str(folder / "out.npz")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def ring(ids: list[str]) -> pandas.DataFrame:
    return pandas.DataFrame({"source": ids, "target": [*ids[1:], ids[0]]})


def test_one_long_cell_does_not_cost_its_length_in_every_row(tmp_path: Path) -> None:
    """A table of 278 KB with one cell of 100 KB took more than 2.5 GB; 60,000 rows wanted 24 GB."""
    ids = [f"n{i}" for i in range(ROWS)]
    text = [f"some words of row {i % 50}" for i in range(ROWS - 1)]
    tables = {
        "text": pandas.DataFrame({"id": ids, "v": [*text, "word " * (LONG // 5)]}),
        "category": pandas.DataFrame({"id": ids, "v": [*(f"level {i % 5}" for i in range(ROWS - 1)), "x" * LONG]}),
        "number": pandas.DataFrame({"id": ids, "v": [*(f"{i},5" for i in range(ROWS - 1)), "1,111" * LONG]}),
        "name": pandas.DataFrame({"id": [*ids[:-1], "x" * LONG], "v": range(ROWS)}),
        "kinds": ring(ids).assign(type=["b" * LONG, *(f"a{i % 3}" for i in range(ROWS - 1))]),
        "further": pandas.concat([ring(ids), ring(ids)]).assign(
            of=["b" * LONG, *(f"a{i}" for i in range(2 * ROWS - 1))]
        ),
        "edges": ring(ids[:-1]),
    }
    for name, frame in tables.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    pairs = [("text", "edges"), ("category", "edges"), ("number", "edges"), ("name", "edges")]
    pairs += [("category", "kinds"), ("category", "further")]
    files = json.dumps([[str(tmp_path / f"{name}.csv") for name in pair] for pair in pairs])
    done = measure(tmp_path, files)
    assert done.returncode == 0, done.stderr
    for pair, line in zip(pairs, done.stdout.splitlines(), strict=True):
        grown, found = json.loads(line)
        assert grown < 300, (pair, grown)
        assert found == ROWS or (pair[0] == "name" and "write .csv or .parquet" in found), (pair, found)


def test_a_header_of_a_million_columns_is_refused_at_once(tmp_path: Path) -> None:
    """A header of 7 MB took 3 GB in 10 s, or 24 s until something else was refused."""
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{i}" for i in range(1_000_000)) + "\n1\n2\n3\n")
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n2,3\n")
    files = json.dumps([[str(wide), str(tmp_path / "edges.csv")]])
    done = measure(tmp_path, files)
    grown, said = json.loads(done.stdout)
    assert grown < 300 and "wide.csv has 1,000,000 columns; at most 65,536 are read" in said
    for command in (["pretrain"], ["store"]):
        refused = graphmae(*command, wide, tmp_path / "edges.csv", "--out", tmp_path / "out")
        assert refused.returncode == 2 and "1,000,000 columns" in refused.stderr, refused.stderr


def test_a_wide_table_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Guards against a limit that only text files have, and against one that tables of genes do not pass."""
    edges = ring(["a", "b", "c"])
    wide = pyarrow.table({f"c{i}": [1, 2, 3] for i in range(70_000)})
    pyarrow.parquet.write_table(wide, tmp_path / "wide.parquet")
    for table in (tmp_path / "wide.parquet", wide):
        with pytest.raises(InputError, match="70,000 columns"):
            from_tables(table, edges, quiet=True)
    genes = {"id": ["a", "b", "c"], **{f"g{i}": [i, 2, 3] for i in range(500)}}
    assert from_tables(genes, edges, quiet=True).graphs[0].x.shape == (3, 500)
