"""Tables as people have them: right kinds and right numbers, or a clear sentence."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphmae.data import TableGraph, from_edges, from_tables
from graphmae.runtime.errors import DataError, InputError

RING = "source,target\n1,2\n2,3\n3,4\n4,1\n"


def graph_of(tmp_path: Path, nodes: str | bytes, edges: str = RING, name: str = "n.csv", **options: Any) -> TableGraph:
    (tmp_path / name).write_bytes(nodes if isinstance(nodes, bytes) else nodes.encode())
    (tmp_path / "e.csv").write_text(edges)
    return from_tables(tmp_path / name, tmp_path / "e.csv", quiet=True, **options)


def kinds(graph: TableGraph) -> dict[str, str]:
    return {column.name: column.kind for column in graph.columns}


def numbers(graph: TableGraph, column: str) -> list[float]:
    """What the cells of a column were read as, from the features and what was learned."""
    at = graph.feature_names.index(column)
    learned = next(c.learned for c in graph.columns if c.name == column)
    x = graph.graphs[0].x[:, at].double().numpy() * learned["std"] + learned["mean"]
    return np.round(np.expm1(x) if learned["logarithmic"] else x, 3).tolist()


def days(graph: TableGraph, column: str) -> list[str]:
    """The dates of a column; features have 24 bits, so to the day."""
    start = datetime.datetime(1970, 1, 1)
    moments = [start + datetime.timedelta(seconds=s + 43200) for s in numbers(graph, column)]
    return [moment.date().isoformat() for moment in moments]


def said(graph: TableGraph) -> str:
    return "\n".join(graph.report.lines())


def test_excel_in_germany(tmp_path: Path) -> None:
    text = (
        "Nr;Größe;Preis;Anteil;Datum;Ort\r\n1;1,75;1.234,50 €;12,5 %;31.12.2021;Köln\r\n"
        "2;1,6;12,00 €;3 %;01.02.2020;köln\r\n3;1,82;1.000 €;7 %;03.04.2019;Zürich\r\n"
        "4;1,9;#NV;1 %;05.06.2018;Köln \r\n"
    )
    graph = graph_of(tmp_path, text.encode("cp1252"))
    assert kinds(graph) == dict.fromkeys(("Anteil", "Datum", "Größe", "Preis"), "number") | {"Ort": "category"}
    assert numbers(graph, "Größe") == [1.75, 1.6, 1.82, 1.9] and numbers(graph, "Anteil") == [0.125, 0.03, 0.07, 0.01]
    assert numbers(graph, "Preis")[:3] == [1234.5, 12.0, 1000.0] and "Preis is missing" in graph.feature_names
    assert days(graph, "Datum") == ["2021-12-31", "2020-02-01", "2019-04-03", "2018-06-05"]
    assert "cp1252" in said(graph) and "'köln' as 'Köln'" in said(graph) and "'Nr' is the id column" in said(graph)
    assert [f for f in graph.feature_names if f.startswith("Ort")] == ["Ort: Köln", "Ort: Zürich"]
    # One new row, which leaves open what 1.000 is: read as in training.
    new = "Nr;Größe;Preis;Anteil;Datum;Ort\n1;2;1.000;3 %;01.02.2020;KÖLN\n2;1,82;2.000;7 %;03.04.2019;Zürich\n"
    again = graph_of(tmp_path, new, "source;target\n1;2\n", treatment=json.loads(json.dumps(graph.treatment)))
    assert numbers(again, "Preis") == [1000.0, 2000.0] and numbers(again, "Größe") == [2.0, 1.82]
    at = again.feature_names.index("Ort: Köln")
    assert again.graphs[0].x[:, at].tolist() == [1.0, 0.0]


def test_a_new_table_in_another_notation_is_read_right(tmp_path: Path) -> None:
    german = "id;price;day\n1;1.234,5;13/02/2020\n2;2,5;1/2/2020\n3;3;1/3/2020\n4;4;1/4/2020\n"
    first = graph_of(tmp_path, german)
    american = 'id,price,day\n1,"1,234.5",2/13/2020\n2,2.5,2/1/2020\n3,3,3/1/2020\n4,4,4/1/2020\n'
    plain = "id,price,day\n1,1234.5,2020-02-13\n2,2.5,2020-02-01\n3,3,2020-03-01\n4,4,2020-04-01\n"
    for new in (american, plain):
        assert torch.equal(graph_of(tmp_path, new, treatment=first.treatment).graphs[0].x, first.graphs[0].x)


def test_excel_in_america(tmp_path: Path) -> None:
    nodes = (
        '\ufeffsep=,\r\nId,Revenue,Change,Opened\r\n1,"$1,234.50",(3.5%),12/31/2021\r\n2,"$12.00",4%,1/2/2020\r\n'
        '3,"$2,000",-1%,3/4/2019 4:05 PM\r\n4,"$1,000,000.00",0%,5/6/2018\r\n'
    )
    graph = graph_of(tmp_path, nodes)
    assert kinds(graph) == dict.fromkeys(("Revenue", "Change", "Opened"), "number")
    assert np.allclose(numbers(graph, "Revenue"), [1234.5, 12.0, 2000.0, 1e6], rtol=1e-5)
    assert numbers(graph, "Change") == [-0.035, 0.04, -0.01, 0.0]
    assert days(graph, "Opened") == ["2021-12-31", "2020-01-02", "2019-03-05", "2018-05-06"]  # rounded to the day


def test_excel_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["code", "price", "day"],
        [1, 2.5, datetime.date(2021, 1, 2)],
        [2, 3, None],
        [3, "n/a", None],
        [4, 9, None],
    ):
        book.active.append(row)
    book.create_sheet("notes").append(["ignore me"])
    book.save(tmp_path / "n.xlsx")
    (tmp_path / "e.csv").write_text(RING)
    graph = from_tables(tmp_path / "n.xlsx", tmp_path / "e.csv", quiet=True)
    assert kinds(graph) == {"day": "number", "price": "number"} and "of 2 sheets" in said(graph)
    assert [value for value in numbers(graph, "price") if value in (2.5, 3, 9)] == [2.5, 3.0, 9.0]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(InputError, match=r"needs openpyxl: pip install 'graphmae\[excel\]'"):
            from_tables(tmp_path / "n.xlsx", tmp_path / "e.csv", quiet=True)
    (tmp_path / "n.xlsx").write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(DataError, match=r"damaged or not an .xlsx"):
        from_tables(tmp_path / "n.xlsx", tmp_path / "e.csv", quiet=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    nodes = "id\tort\tmenge\n1\tMünchen\t5\n2\tÅrhus\t6\n3\tMünchen\t8\n4\tÅrhus\t9\n"
    graph = graph_of(tmp_path, nodes.encode(encoding), name="n.txt")
    assert kinds(graph) == {"menge": "number", "ort": "category"} and numbers(graph, "menge") == [5, 6, 8, 9]
    assert graph.feature_names[1:] == ["ort: München", "ort: Århus"]
    assert ("n.txt is not UTF-8: read as" in said(graph)) == (encoding != "utf-8-sig")


def test_pipes_and_quoted_newlines(tmp_path: Path) -> None:
    nodes = 'id|"a, b; c"|"two\nlines"\n1|"x|y"|3\n2|"one\nand two, or ;"|4\n3|"x|y"|5\n4|"one\nand two, or ;"|6\n'
    graph = graph_of(tmp_path, nodes)
    assert kinds(graph) == {"a, b; c": "category", "two lines": "number"} and numbers(graph, "two lines") == [
        3,
        4,
        5,
        6,
    ]
    assert "x|y" in graph.columns[0].learned["levels"]
    commas = graph_of(tmp_path, "Nr;Preis, EUR;Rest, m\n1;1,5;2,5\n2;2,75;3,5\n3;1,2;1,5\n4;9,99;2,2\n")
    assert numbers(commas, "Preis, EUR") == [1.5, 2.75, 1.2, 9.99] and numbers(commas, "Rest, m") == [
        2.5,
        3.5,
        1.5,
        2.2,
    ]


def test_mixed_dates(tmp_path: Path) -> None:
    nodes = "id,born,met,either\n1,2021-03-12,25/12/2020,01/02/2020\n2,12 Mar 2020,03/04/2019,03/04/2019\n"
    nodes += '3,12.03.2019,5/6/2018 10:00,05/06/2018\n4,"March 12, 2018",7/8/2017,07/08/2017\n'
    graph = graph_of(tmp_path, nodes)
    assert days(graph, "born") == ["2021-03-12", "2020-03-12", "2019-03-12", "2018-03-12"]
    assert days(graph, "met") == ["2020-12-25", "2019-04-03", "2018-06-05", "2017-08-07"]
    assert "'01/02/2020' can be read in two ways; day-first, as in other columns" in said(graph)
    alone = "id,either\n1,01/02/2020\n2,03/04/2019\n3,05/06/2018\n4,07/08/2017\n"
    assert 'day-first was taken, data.kinds = { either = "month-first" } changes it' in said(graph_of(tmp_path, alone))
    asked = graph_of(tmp_path, alone, kinds={"either": "month-first"})
    assert days(asked, "either") == ["2020-01-02", "2019-03-04", "2018-05-06", "2017-07-08"]
    with pytest.raises(DataError, match="written in two ways, as in '25/12/2020' and in '12/25/2020'"):
        graph_of(tmp_path, "id,d\n1,25/12/2020\n2,12/25/2020\n3,1/2/2020\n4,1/2/2020\n")


def test_currency_that_can_be_read_in_two_ways(tmp_path: Path) -> None:
    doubtful = 'id,price\n1,"1,234 €"\n2,"5,678 €"\n3,"9,999 €"\n4,"2,500 €"\n'
    with pytest.raises(DataError, match=r"'1,234 €' may be 1234 or 1.234, and no other cell tells; set data.kinds"):
        graph_of(tmp_path, doubtful)
    point = graph_of(tmp_path, doubtful, kinds={"price": "decimal-point"})
    comma = graph_of(tmp_path, doubtful, kinds={"price": "decimal-comma"})
    assert numbers(point, "price") == [1234, 5678, 9999, 2500] and numbers(comma, "price") == [1.234, 5.678, 9.999, 2.5]
    told = doubtful.replace("9,999", "9,99")
    assert numbers(graph_of(tmp_path, told), "price") == [1.234, 5.678, 9.99, 2.5]
    by_others = "id;a;b\n1;1.234;2,5\n2;5.678;3,5\n3;9.999;4\n4;2.500;5\n"
    graph = graph_of(tmp_path, by_others)
    assert numbers(graph, "a") == [1234, 5678, 9999, 2500] and "decimal-comma, as in other columns" in said(graph)
    with pytest.raises(DataError, match=r"'1.234' may be 1.234 or 1234"):
        graph_of(tmp_path, by_others.replace(",5", ""))
    mixed = graph_of(tmp_path, "id,p\n1,$5\n2,€6\n3,$7\n4,8 %\n")
    assert "several currencies ($, €) were not converted" in said(mixed) and "percent sign" in said(mixed)


def test_twenty_thousand_columns(tmp_path: Path) -> None:
    cells = np.random.default_rng(0).integers(0, 9, (20, 20_000))
    rows = [f"{i}," + ",".join(map(str, row)) for i, row in enumerate(cells)]
    nodes = "paper," + ",".join(f"c{i}" for i in range(20_000)) + "\n" + "\n".join(rows)
    begun = time.process_time()
    graph = graph_of(tmp_path, nodes, "source,target\n" + "\n".join(f"{i},{(i + 1) % 20}" for i in range(20)))
    assert time.process_time() - begun < 20
    assert graph.graphs[0].x.shape == (20, 20_000) and numbers(graph, "c7") == cells[:, 7].tolist()
    lines = graph.report.lines()
    assert len(lines) < 16 and any("… and 19,990 more columns: 19,990 number" in line for line in lines)


def test_five_thousand_categories(tmp_path: Path) -> None:
    rows = "".join(f"{i},shop {i % 5000}\n" for i in range(10_000))
    graph = graph_of(tmp_path, "id,shop\n" + rows, "source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(9_999)))
    assert kinds(graph) == {"shop": "category"} and graph.graphs[0].x.shape == (10_000, 257)
    assert "256 categories of 5,000, the rest as one" in said(graph) and bool((graph.graphs[0].x.sum(1) == 1).all())


def test_ids_as_floats(tmp_path: Path) -> None:
    plain = graph_of(tmp_path, "id,age\n1,5\n2,6\n3,8\n4,9\n")
    for nodes, edges in (
        ("id,age\n1.0,5\n2.0,6\n3.0,8\n4.0,9\n", RING),
        ("id,age\n1,5\n2,6\n3,8\n4,9\n", "source,target\n1.0,2.0\n2.0,3.0\n3.0,4.0\n4.0,1.0\n"),
        ("nr,age\n1.0,5\n2.0,6\n3.0,8\n4.0,9\n", "a,b,w\n1,2,.5\n2,3,.1\n3,4,.2\n4,1,.3\n"),
    ):
        graph = graph_of(tmp_path, nodes, edges)
        assert torch.equal(graph.graphs[0].edge_index, plain.graphs[0].edge_index)
        assert torch.equal(graph.graphs[0].x[:, :1], plain.graphs[0].x) and "trailing .0" in said(graph)


def test_edges_with_weights_times_and_types(tmp_path: Path) -> None:
    nodes = "sku,price\n007,5\n7,6\nx1,8\nx2,9\n"
    edges = "Weight;made on;kind;buyer;seller;remark\n0,5;01.02.2021;buys;007;7;fine\n1,5;13.02.2021;rents;7;x1;ok\n"
    edges += "2;05.03.2021;buys;x1;x2;so so\n1;05.03.2021;buys;x2;007;ok\n"
    graph = graph_of(tmp_path, nodes, edges)
    assert graph.treatment["edge_kinds"] == ["buys", "rents"] and len(graph.graphs[0].x) == 4
    assert "edges go from 'buyer' to 'seller'" in said(graph) and "'sku' is the id column" in said(graph)
    for role in (
        "'Weight': weights of edges, from 0.5 to 2",
        "'made on': times of edges",
        "'remark': category of edges",
    ):
        assert role in said(graph)
    pairs = {tuple(pair) for pair in graph.graphs[0].edge_index.T.tolist() if pair[0] < pair[1]}
    place = {each: row for row, each in enumerate(graph.ids.to_pylist())}  # type: ignore[union-attr]
    wanted = [("007", "7"), ("7", "x1"), ("x1", "x2"), ("x2", "007")]
    assert pairs == {tuple(sorted((place[a], place[b]))) for a, b in wanted}


def test_a_jsonl_export(tmp_path: Path) -> None:
    lines = [
        {"user": "u1", "age": 5, "tags": [1.0, 2.0], "joined": "2020-01-02T00:00:00Z", "city": "Oslo"},
        {"user": "u2", "age": "6", "tags": [0.0, 1.0], "city": "oslo "},
        {"user": "u3", "age": 8.5, "tags": None, "city": "Rome"},
    ]
    (tmp_path / "n.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    (tmp_path / "e.jsonl").write_text('{"from": "u1", "to": "u2"}\n{"from": "u2", "to": "u3"}\n')
    graph = from_tables(tmp_path / "n.jsonl.gz", tmp_path / "e.jsonl", quiet=True)
    assert kinds(graph) == {"age": "number", "city": "category", "joined": "number", "tags": "vector"}
    assert numbers(graph, "age") == [5, 6, 8.5] and "'user' is the id column" in said(graph)
    (tmp_path / "e.jsonl").write_text('{"from": "u1", "to": "u2"}\n["u2", "u3"]\n')
    with pytest.raises(DataError, match=r"e.jsonl: line 2 is not a JSON object"):
        from_tables(tmp_path / "n.jsonl.gz", tmp_path / "e.jsonl", quiet=True)


def test_nodes_only_in_the_edge_table(tmp_path: Path) -> None:
    nodes = "id,age\n" + "".join(f"{i},{i % 7}\n" for i in range(30))
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 30}\n" for i in range(30))
    graph = graph_of(tmp_path, nodes, edges + "5,999\n")
    assert len(graph.graphs[0].x) == 30 and "1 edge of 31 in e.csv names a node that is not in the node table" in said(
        graph
    )
    with pytest.raises(DataError, match="need a row in the node table, or leave that table out"):
        graph_of(tmp_path, nodes, edges + "".join(f"{i},{900 + i}\n" for i in range(10)))
    assert len(from_edges(tmp_path / "e.csv", quiet=True).graphs[0].x) == 40


def test_a_zip_holds_one_table(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(RING)
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as archive:
        archive.writestr("export/n.csv", "id;age\n1;5\n2;6\n3;8\n4;9\n")
    assert numbers(from_tables(tmp_path / "n.zip", tmp_path / "e.csv", quiet=True), "age") == [5, 6, 8, 9]
    with zipfile.ZipFile(tmp_path / "n.zip", "a") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(DataError, match=r"must hold one table; it holds export/n.csv, readme.txt"):
        from_tables(tmp_path / "n.zip", tmp_path / "e.csv", quiet=True)


def test_ids_and_ends_are_found_by_what_they_hold(tmp_path: Path) -> None:
    code = graph_of(tmp_path, "name,code,age\nann,1,4\nbob,2,5\ncat,3,6\ndan,4,8\n")
    assert "'code' is the id column" in said(code) and kinds(code) == {"name": "category", "age": "number"}
    dates = "from,to,p,q\n2020-01-01,2020-02-01,1,2\n2020-01-01,2020-02-01,2,3\n2020-01-05,2020-02-01,3,4\n"
    graph = graph_of(tmp_path, "id,v\n1,1\n2,2\n3,4\n4,5\n", dates)
    assert "edges go from 'p' to 'q'" in said(graph) and "'from': times of edges" in said(graph)
    zeros = graph_of(tmp_path, "nr,v\n007,1\n7,2\n08,3\n", "w,p,q\n0.5,007,7\n0.1,08,7\n")
    assert zeros.ids.to_pylist() == ["007", "7", "08"] and len(zeros.graphs[0].x) == 3  # type: ignore[union-attr]


def test_problems_of_both_tables_come_together(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        graph_of(tmp_path, "x,y\n0.5,2\n0.7,2\n", "p,q,r\na,b,c\nd,e,f\n")
    text = str(error.value)
    assert "2 problems" in text and "the nodes' id? Say so with --id" in text
    assert "e.csv: which columns are an edge's two ends? Say so with --source and --target" in text
    with pytest.raises(DataError, match=r"2 problems\n.*no file .*n2.csv\n.*no file .*e2.csv"):
        from_tables(tmp_path / "n2.csv", tmp_path / "e2.csv", quiet=True)
    with pytest.raises(DataError, match="both 'a' and 'b' hold what edges point at; say which is the id with --id"):
        graph_of(tmp_path, "a,b\n1,4\n2,3\n3,2\n4,1\n")


def test_a_name_is_not_doubted_for_a_few_strays(tmp_path: Path) -> None:
    nodes = "id,rank\n" + "".join(f"{i},{i + 2}\n" for i in range(10))  # ranks hold all ends, ids four fifths
    edges = "source,target\n" + "".join(f"{i},{i + 2}\n" for i in range(2, 10))
    with pytest.raises(DataError, match=r"2 edges of 8 in e.csv name nodes that are not in the node table"):
        graph_of(tmp_path, nodes, edges)


def test_ids_with_leading_zeros_beside_ids_that_are_text(tmp_path: Path) -> None:
    """One table's ids look like numbers, the other's do not, for a few ids nobody knows: 00779 is the same in both."""
    (tmp_path / "nodes.csv").write_text("sku,price\n" + "".join(f"{i:05d},{i % 7}.5\n" for i in range(40)))
    edges = [f"{i:05d},{(i * 7 + 1) % 40:05d},{i % 3 + 1}" for i in range(40)]
    (tmp_path / "edges.csv").write_text("von,nach,menge\n" + "\n".join([*edges, "X0,00001,2"]) + "\n")
    graph = from_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", quiet=True)
    assert graph.id_name == "sku" and graph.ids.to_pylist()[:2] == ["00000", "00001"]
    assert graph.graphs[0].edge_index.size(1) > 70


def test_classes_of_one_or_two_nodes_are_named(tmp_path: Path) -> None:
    kinds = ["office", "garden"] * 10 + ["gardxx"]
    nodes = {"id": list(range(21)), "size": [i % 5 for i in range(21)], "kind": kinds}
    edges = {"source": list(range(20)), "target": list(range(1, 21))}
    graph = from_tables(nodes, edges, label="kind", quiet=True)
    assert any("gardxx" in note and "typing" in note for note in graph.report.notes)


def test_a_weight_that_is_a_category_is_refused_without_warnings(recwarn: pytest.WarningsRecorder) -> None:
    nodes = {"id": list(range(6)), "size": [1, 2, 3, 4, 5, 6]}
    edges = {"source": [0, 1, 2, 3, 4], "target": [1, 2, 3, 4, 5], "art": ["a", "b", "a", "b", "a"]}
    with pytest.raises(DataError, match="cannot be the weight"):
        from_tables(nodes, edges, weight="art", quiet=True)
    assert not [each for each in recwarn if each.category is RuntimeWarning]
