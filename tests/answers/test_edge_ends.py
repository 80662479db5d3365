"""Which columns are ids and which are ends of edges: the right graph or a question, never one that is not there."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from graphmae.data import from_tables
from graphmae.runtime.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1]))
from commands import graphmae

Frame = pandas.DataFrame
CHINOOK = Path(os.environ.get("GRAPHMAE_DATA", "")) / "sql" / "chinook.sqlite"
Pairs = set[tuple[str, str]]


def write(folder: Path, **tables: Frame) -> list[Path]:
    paths = []
    for name, frame in tables.items():
        paths.append(folder / f"{name}.csv")
        frame.to_csv(paths[-1], index=False)
    return paths


def pretrain(paths: Sequence[Path], *options: str) -> Any:
    folder = paths[0].parent
    return graphmae("pretrain", *paths, "--epochs", 1, "--out", folder / "run", *options)


def refused(paths: Sequence[Path], *words: str) -> str:
    """What the command says when it refuses, which must hold all these words."""
    done = pretrain(paths)
    assert done.returncode == 2, done.stderr
    assert not (paths[0].parent / "run").exists()
    lacking = [word for word in words if word not in done.stderr]
    assert not lacking, (lacking, done.stderr)
    return str(done.stderr)


def users_and_edges(rows: int = 120) -> tuple[Frame, Frame]:
    rng = np.random.default_rng(0)
    nodes = Frame({"id": range(rows), "age": rng.normal(40, 9, rows).round(1), "days": rng.permutation(rows)})
    return nodes, Frame(rng.integers(rows, size=(4 * rows, 2)), columns=["source", "target"])


def pairs_of(graph: Any) -> Pairs:
    """The edges of a graph as pairs of ids, without self-loops."""
    names = [str(value) for value in graph.ids.to_pylist()]
    ends = graph.graphs[0].edge_index.T.tolist()
    return {(min(names[a], names[b]), max(names[a], names[b])) for a, b in ends if a != b}


def pairs_in(edges: Frame) -> Pairs:
    columns = [edges.iloc[:, 0].astype(str), edges.iloc[:, 1].astype(str)]
    return {(min(a, b), max(a, b)) for a, b in zip(*columns, strict=True) if a != b}


def test_a_long_feature_table_is_explained(tmp_path: Path) -> None:
    """`pretrain users.csv features.csv edges.csv`: feature 1951 became user 1951, trained with exit code 0."""
    nodes, edges = users_and_edges()
    rng = np.random.default_rng(1)
    features = Frame({"node_id": rng.integers(120, size=500), "feature_id": rng.integers(100, size=500), "value": 1})
    paths = write(tmp_path, users=nodes, features=features, edges=edges)
    said = refused(paths, "features.csv", "long table", "--source node_id --target feature_id", "pandas")
    line = said.split("with pandas: ")[1].split(". If ")[0]
    wide = eval(line, {"nodes": nodes, "table": features})  # the line that is shown is pandas that runs
    assert len(wide) == len(nodes) and "agg(list)" in line  # one value in every row tells no two features apart
    features["value"] = rng.integers(1, 9, size=500)
    paths = write(tmp_path, users=nodes, features=features, edges=edges)
    line = refused(paths, "long table").split("with pandas: ")[1].split(". If ")[0]
    wide = eval(line, {"nodes": nodes, "table": features})
    assert len(wide) == len(nodes) and wide.shape[1] > 90 and (wide == 0).any().any()


def test_items_are_not_users_of_the_same_number(tmp_path: Path) -> None:
    """`pretrain users.csv ratings.csv`: item 5 became user 5, trained with exit code 0."""
    nodes, _ = users_and_edges()
    rng = np.random.default_rng(1)
    ratings = Frame({"user_id": rng.integers(120, size=400), "item_id": rng.integers(90, size=400)})
    ratings["rating"] = rng.integers(1, 6, size=400)
    paths = write(tmp_path, users=nodes.rename(columns={"id": "user_id"}), ratings=ratings)
    refused(paths, "'user_id' and 'item_id'", "--source user_id --target item_id", "column 'kind'")
    asked = pretrain(paths, "--source", "user_id", "--target", "item_id")
    assert asked.returncode == 0, asked.stderr


def test_the_node_table_is_no_edge_table(tmp_path: Path) -> None:
    """`pretrain users.csv users.csv`: edges from 'days' to 'id' were trained on with exit code 0."""
    nodes, _ = users_and_edges()
    (paths,) = [write(tmp_path, users=nodes, copy=nodes)]
    for second in (paths[0], paths[1]):
        refused([paths[0], second], "the same rows as the node table", "--source")
    with pytest.raises(InputError, match="the same rows as the node table"):
        from_tables(nodes, nodes, quiet=True)
    nodes["boss"] = (nodes["id"] + 1) % len(nodes)  # rows that name other rows, said so
    assert len(pairs_of(from_tables(nodes, nodes, source="id", target="boss", quiet=True))) == len(nodes)


def test_the_same_edges_twice_are_refused(tmp_path: Path) -> None:
    """`pretrain users.csv edges.csv edges.csv`: every edge counted twice, "1 kinds of edges" and constant features."""
    nodes, edges = users_and_edges()
    paths = write(tmp_path, users=nodes, edges=edges, again=edges)
    refused([paths[0], paths[1], paths[1]], "edges.csv", "given twice")
    refused(paths, "edges.csv and again.csv", "given twice")


def test_two_node_tables_are_told_what_to_do(tmp_path: Path) -> None:
    """`pretrain users.csv items.csv ratings.csv`: the advice was --source user_id, which led to a second error."""
    rng = np.random.default_rng(1)
    users = Frame({"user_id": range(60), "age": rng.integers(20, 60, 60)})
    items = Frame({"item_id": range(40), "price": rng.integers(1, 40, 40)})
    ratings = Frame({"user_id": rng.integers(60, size=300), "item_id": rng.integers(40, size=300)})
    paths = write(tmp_path, users=users, items=items, ratings=ratings)
    said = refused(paths, "items.csv looks like a second node table", "pandas.concat", "'kind'")
    assert "2 problems" not in said
    again = pretrain(paths, "--source", "user_id", "--target", "item_id")
    assert again.returncode == 2 and "second node table" in again.stderr
    line = "pandas.concat" + said.split("pandas.concat")[1].split(", a and b being")[0]
    nodes = eval(line, {"pandas": pandas, "a": users, "b": items})
    edges = Frame({"user": "a-" + ratings["user_id"].astype(str), "item": "b-" + ratings["item_id"].astype(str)})
    assert pairs_of(from_tables(nodes.drop(columns=["user_id", "item_id"]), edges, quiet=True)) == pairs_in(edges)


@pytest.mark.parametrize("names", ["user_id,item_id", "userId,movieId", "user,item"])
@pytest.mark.parametrize("more", [{}, {"rating": 5}, {"rating": 5, "timestamp": 10**9}])
def test_an_edge_list_of_two_sets_is_asked_about(
    names: str, more: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    """`pretrain ratings.csv`: item 5 and user 5 became one node, and our question led to it."""
    rng = np.random.default_rng(1)
    one, other = names.split(",")
    ratings = Frame(rng.integers(90, size=(400, 2)), columns=[one, other])
    for name, most in more.items():
        ratings[name] = rng.integers(1, most, size=400)
    with pytest.raises(InputError, match="ids of two sets, and 88 ids are in both") as refusal:
        from_tables(None, ratings, quiet=True)
    assert "--source" not in str(refusal.value)
    line = str(refusal.value).split("with pandas: ")[1].split(". Use")[0]
    apart = eval(line, {"table": ratings})  # the line that is shown is pandas that runs
    graph = from_tables(None, apart, quiet=True)
    assert len(graph.ids) == 178 and pairs_of(graph) == pairs_in(apart[["source", "target"]])
    with caplog.at_level("WARNING", logger="graphmae"):  # said so, it is done, and not in silence
        said = from_tables(None, ratings, source=one, target=other)
    assert pairs_of(said) == pairs_in(ratings) and "ids of two sets" in caplog.text
    further = ratings.assign(**{other: ratings[other] + 1000})
    caplog.clear()
    from_tables(None, further, source=one, target=other)
    assert pairs_of(from_tables(None, further[[one, other]])) == pairs_in(further) and "two sets" not in caplog.text


def test_two_sets_that_were_said_are_a_warning_beside_a_node_table(caplog: pytest.LogCaptureFixture) -> None:
    """`pretrain users.csv ratings.csv --source user_id --target item_id`: trained, with no word."""
    nodes, edges = users_and_edges()
    rated = edges.set_axis(["user_id", "item_id"], axis=1)
    with caplog.at_level("WARNING", logger="graphmae"):
        from_tables(nodes, rated, source="user_id", target="item_id")
    assert "ids of two sets" in caplog.text


@pytest.mark.parametrize(
    "names",
    ["paper_id,cited_paper_id", "user_id,follows_user_id", "user_id,followed_user_id", "user_id,followed_id",
     "id,neighbor", "id,cited_id", "author,coauthor", "category_id,parent_category_id", "employee_id,reports_to",
     "product_id,related_product_id", "winner_id,loser_id", "inviter_id,invitee_id", "referrer_id,referred_id",
     "mentor,mentee", "person_id,knows_id", "i,j"],
)  # fmt: skip
def test_names_of_one_set_are_taken(names: str) -> None:
    """ "are 'paper_id' and 'cited_paper_id' the two ends of an edge? … their names do not settle it": they do."""
    nodes, edges = users_and_edges()
    edges = edges.set_axis(names.split(","), axis=1)
    further = edges.assign(distance=np.arange(len(edges)) % 90)
    own = nodes.rename(columns={"id": names.split(",")[0]}) if "_id," in names else nodes
    for table in (edges, further, further[["distance", *edges.columns]]):
        assert pairs_of(from_tables(nodes, table, quiet=True)) == pairs_in(edges)
        assert pairs_of(from_tables(own, table, quiet=True)) == pairs_in(edges)


@pytest.mark.parametrize("names", ["user_id,rated", "user_id,user_group_id", "product_id,speed", "user_id,follows"])
def test_names_that_may_be_of_something_else_are_asked_about(names: str) -> None:
    """Guards against names of one set that take a count, a mark or a group for a node."""
    nodes, edges = users_and_edges()
    table = edges.set_axis(names.split(","), axis=1).assign(day=np.arange(len(edges)) % 90)
    with pytest.raises(InputError, match="--source"):
        from_tables(nodes, table, quiet=True)
    categories = edges.set_axis(["category_id", "parent_category_id"], axis=1)
    with pytest.raises(InputError, match="--source"):  # of other nodes than these
        from_tables(nodes.rename(columns={"id": "product_id"}), categories, quiet=True)


@pytest.mark.parametrize(("ids_from", "edges_from", "line"), [(0, 1, "-= 1"), (1, 0, "+= 1")])
def test_edges_that_count_from_another_number_are_a_warning(
    ids_from: int, edges_from: int, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ids 0 to 119 and edges 1 to 120: every edge joined the wrong nodes, with one line of information."""
    nodes, edges = users_and_edges()
    edges.iloc[0] = [0, 119]
    nodes["id"] += ids_from
    with caplog.at_level("WARNING", logger="graphmae"):
        from_tables(nodes, edges + edges_from)
    assert f"edges count from {edges_from}, all of them join the wrong nodes" in caplog.text and line in caplog.text
    caplog.clear()
    from_tables(nodes, edges + ids_from)
    missing = edges[(edges != 0).all(axis=1)] + edges_from  # one end more is unknown, or the other side is named
    for more in ([5000, 7], [ids_from, 119 + ids_from]):
        table = pandas.concat([missing, Frame([more, [120 * edges_from, 7]], columns=edges.columns)])
        from_tables(nodes, table)
    assert "wrong nodes" not in caplog.text


@pytest.mark.parametrize("more", [{}, {"rating": 5}, {"rating": 200}])
def test_stacked_nodes_of_two_kinds_settle_the_ends(more: dict[str, int]) -> None:
    """Users and items in one table with a column 'kind', as we advise: the same question again."""
    rng = np.random.default_rng(0)
    nodes = Frame({"id": range(1, 421), "kind": ["user"] * 300 + ["item"] * 120, "age": rng.normal(size=420)})
    edges = Frame({"user_id": rng.integers(1, 301, 900), "item_id": rng.integers(301, 421, 900)})
    rated = edges.assign(**{name: rng.integers(1, most, 900) for name, most in more.items()})
    for table in (rated, rated[rated.columns[::-1]]):
        assert pairs_of(from_tables(nodes, table, quiet=True)) == pairs_in(edges)
    for doubtful in (nodes.drop(columns="kind"), nodes.assign(kind=rng.permutation(nodes["kind"]))):
        with pytest.raises(InputError, match="--source user_id --target item_id"):
            from_tables(doubtful, rated, quiet=True)
    few = nodes.assign(kind=["user"] * 418 + ["item"] * 2)  # one kind at nearly all nodes tells nothing
    with pytest.raises(InputError, match="--source"):
        from_tables(few, edges.assign(item_id=420).iloc[:5], quiet=True)


@pytest.mark.skipif(not CHINOOK.is_file(), reason="the data archive is not here")
def test_no_two_tables_of_a_shop_become_a_graph(tmp_path: Path) -> None:
    """Of the 110 pairs of tables of a database, all with whole numbers as keys, 20 became graphs without a question."""
    with closing(sqlite3.connect(CHINOOK)) as shop:
        named = [name for (name,) in shop.execute("select name from sqlite_master where type = 'table'")]
        tables = {name: pandas.read_sql(f'select * from "{name}"', shop) for name in named if "sqlite" not in name}
    paths = dict(zip(tables, write(tmp_path, **tables), strict=True))
    for nodes, edges in [*permutations(paths.values(), 2), *((None, path) for path in paths.values())]:
        with pytest.raises(InputError, match=r"--source|--id|twice|node table"):
            from_tables(nodes, edges, quiet=True)
    ends = {"id": "EmployeeId", "source": "EmployeeId", "target": "ReportsTo"}  # what there is, said
    staff = tables["Employee"]
    assert len(pairs_of(from_tables(staff, staff.dropna(subset=["ReportsTo"]), **ends, quiet=True))) == 7


def test_a_further_table_found_by_its_values_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A third table whose ends nobody named was taken with one line of information among ten."""
    nodes, edges = users_and_edges()
    nodes["id"], edges = "u" + nodes["id"].astype(str), "u" + edges.astype(str)
    further = edges.rename(columns={"source": "who", "target": "whom"}).iloc[::-1].assign(times=range(len(edges)))
    with caplog.at_level("WARNING", logger="graphmae"):
        graph = from_tables(nodes, [edges, further.iloc[:50]])
    assert "edges go from 'who' to 'whom'" in caplog.text and pairs_of(graph) == pairs_in(edges)


def test_a_further_table_without_header_is_asked_about(tmp_path: Path) -> None:
    """A headerless list of (node, feature) was called source and target by us, and taken by these names."""
    nodes, edges = users_and_edges()
    paths = write(tmp_path, users=nodes, edges=edges)
    rng = np.random.default_rng(1)
    np.savetxt(tmp_path / "features.txt", rng.integers(100, size=(300, 2)), fmt="%d")
    refused([*paths, tmp_path / "features.txt"], "features.txt", "--source source --target target")
    np.savetxt(tmp_path / "edges.txt", edges.to_numpy(), fmt="%d")
    assert pairs_of(from_tables(paths[0], tmp_path / "edges.txt", quiet=True)) == pairs_in(edges)


def test_a_store_does_not_take_two_columns_of_numbers_for_ends(tmp_path: Path) -> None:
    """`graphmae store users.csv ratings.csv`: user_id and item_id became edges among users."""
    nodes, edges = users_and_edges()
    paths = write(tmp_path, users=nodes, ratings=edges.set_axis(["user_id", "item_id"], axis=1), edges=edges)
    done = graphmae("store", paths[0], paths[1], "--out", tmp_path / "stored")
    assert done.returncode == 2 and "--source and --target" in done.stderr
    assert graphmae("store", paths[0], paths[2], "--out", tmp_path / "other").returncode == 0


@pytest.mark.parametrize(
    "names",
    ["source,target", "from,to", "u,v", "id_1,id_2", "node_1,node_2", "citing,cited", "FromNodeId,ToNodeId",
     "user1,user2", "src,dst", "head,tail", "user_id,friend_id"],
)  # fmt: skip
def test_usual_names_of_ends_are_taken(names: str) -> None:
    """Guards against a question about tables that leave no doubt."""
    nodes, edges = users_and_edges()
    edges = edges.set_axis(names.split(","), axis=1)
    decoys = edges.assign(day=np.arange(len(edges)) % 90, rating=np.arange(len(edges)) % 5)
    for table in (edges, decoys):
        assert pairs_of(from_tables(nodes, table, quiet=True)) == pairs_in(edges)
    shuffled = decoys[["day", "rating", *edges.columns]]
    assert pairs_of(from_tables(nodes, shuffled, quiet=True)) == pairs_in(edges)


# Random tables with planted keys and planted decoys.

THINGS = ("id", "node_id", "user_id", "nr", "key")
CLEAR = ("source,target", "from,to", "u,v", "id_1,id_2", "src,dst", "citing,cited", "from_id,to_id", "user1,user2")
UNCLEAR = ("who,whom", "user_id,item_id", "left_one,right_one", "x,y", "node,feature", "page,reader", "col1,col2")


def decoys_of(rng: np.random.Generator, rows: int, nodes: int) -> dict[str, np.ndarray]:
    """Some columns whose whole numbers may be ids by chance."""
    known = {
        "days": rng.integers(nodes, size=rows),
        "count": rng.geometric(0.3, size=rows),
        "feature_id": rng.integers(max(nodes // 2, 2), size=rows),
        "item_id": rng.integers(1, nodes, size=rows),
        "rank": rng.permutation(rows) % nodes,
        "score_1": rng.integers(10, size=rows),
        "score_2": rng.integers(10, size=rows),
        "start_day": rng.integers(nodes, size=rows),
        "end_day": rng.integers(nodes, size=rows),
        "year": rng.integers(1990, 2025, size=rows),
        "price": 10 * rng.integers(1, nodes, size=rows),
        "with_outlier": np.where(rng.random(rows) < 0.02, 10**6, rng.integers(nodes, size=rows)),
    }
    chosen = rng.choice(list(known), size=rng.integers(0, 4), replace=False)
    return {name: known[name] for name in chosen}


def keys_of(rng: np.random.Generator, nodes: int) -> tuple[np.ndarray, bool]:
    """(ids, whether other numbers would be ids as well)."""
    kind = rng.integers(6)
    row = np.arange(nodes)
    if kind < 3:
        return rng.permutation(row + kind % 2), True
    if kind == 3:
        return rng.choice(50 * nodes, nodes, replace=False), False
    if kind == 4:
        return rng.permutation(10 * row + 10), True  # prices are multiples of ten too
    return np.array([f"p{i:04d}" for i in rng.permutation(row)]), False


def shuffled(rng: np.random.Generator, frame: Frame) -> Frame:
    return frame.sample(frac=1, random_state=int(rng.integers(2**31))).reset_index(drop=True)


def plant(seed: int) -> tuple[Frame, list[Frame], Pairs | None, bool]:
    """(nodes, edge tables, the pairs that are edges, whether nothing is unclear); None: there are no edges to find."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(30, 300))
    ids, dense = keys_of(rng, count)
    called = str(rng.choice(THINGS))
    nodes = Frame({called: ids, "age": rng.normal(size=count), **decoys_of(rng, count, count)})
    if rng.random() < 0.3:
        nodes = nodes[rng.permutation(nodes.columns).tolist()]
    number = int(rng.integers(count, 5 * count))
    ends = rng.integers(count, size=(number, 2))
    names = str(rng.choice(CLEAR)).split(",")
    edges = Frame(ids[ends], columns=names)
    truth, more = pairs_in(edges), decoys_of(rng, number, count)
    scenario = seed % 10
    if scenario < 4:  # names that leave no doubt, decoys beside them
        table = edges.assign(**more)
        return nodes, [table[rng.permutation(table.columns).tolist()] if rng.random() < 0.3 else table], truth, True
    if scenario == 4:  # names that say nothing, or something else: ids alone can tell
        table = edges.set_axis(str(rng.choice(UNCLEAR)).split(","), axis=1).assign(**more)
        return nodes, [table], truth, not dense
    if scenario == 5:  # a long table instead of, or beside, the edges
        long = Frame({called: rng.choice(ids, number), "feature_id": rng.integers(count, size=number), **more})
        beside = rng.random() < 0.5
        return nodes, [long, edges] if beside else [long], None, False
    if scenario == 6:  # the node table again, as it is, in another order, or a part of its columns
        again = [nodes, shuffled(rng, nodes), nodes[nodes.columns[: int(rng.integers(1, len(nodes.columns) + 1))]]]
        return nodes, [again[int(rng.integers(3))]], None, False
    if scenario == 7:  # a second node table
        items = Frame({"item_id": range(count), **decoys_of(rng, count, count)})
        items["price"] = rng.integers(count, size=count)
        rated = Frame({called: rng.choice(ids, number), "item_id": rng.integers(count, size=number), **more})
        return nodes, [items, rated], None, False
    if scenario == 8:  # what happened to a node when
        spans = Frame({called: rng.choice(ids, number), "start": rng.integers(count, size=number)})
        spans["end"] = rng.integers(count, size=number)
        return nodes, [spans if rng.random() < 0.5 else spans.assign(**more)], None, False
    return nodes, [edges, edges], None, False  # the same edges twice


def judge(seed: int) -> tuple[str, bool]:
    """("right", "question" or "wrong", whether nothing was unclear)."""
    nodes, tables, truth, is_clear = plant(seed)
    try:
        found = pairs_of(from_tables(nodes, tables, quiet=True))
    except InputError as error:
        names_an_option = any(word in str(error) for word in ("--source", "--id", "twice", "second node table"))
        return "question" if names_an_option else f"no question: {error}", is_clear
    return "right" if found == truth else "wrong", is_clear


def test_random_tables_give_the_right_edges_or_a_question() -> None:
    """Any two columns of whole numbers could become edges of a graph that does not exist."""
    verdicts = {seed: judge(seed) for seed in range(200)}
    wrong = {seed: verdict for seed, (verdict, _) in verdicts.items() if verdict not in ("right", "question")}
    assert not wrong, wrong
    clear = [verdict for verdict, is_clear in verdicts.values() if is_clear]
    assert len(clear) >= 80 and clear.count("right") >= 0.95 * len(clear), clear.count("right") / len(clear)


@pytest.mark.parametrize("make", [lambda ids: ids, lambda ids: [f"n{i}" for i in ids]])
def test_an_id_that_edges_point_at_is_found(make: Callable[[range], Any]) -> None:
    """Guards against a question where only one column can be the id."""
    rng = np.random.default_rng(0)
    nodes = Frame(
        {"id": rng.choice(10**8, 90, replace=False), "new_id": make(range(90)), "days": rng.integers(80, size=90)}
    )
    edges = Frame(np.asarray(make(range(90)))[rng.integers(90, size=(300, 2))], columns=["from", "to"])
    graph = from_tables(nodes, edges, quiet=True)
    assert graph.id_name == "new_id" and pairs_of(graph) == pairs_in(edges)


def test_a_column_that_only_happens_to_hold_ends_is_asked_about() -> None:
    """'stock' became the id column, because edges of another id pointed at its numbers too."""
    rng = np.random.default_rng(0)
    nodes = Frame({"title": [f"t{i}" for i in range(90)], "stock": rng.permutation(90)})
    edges = Frame(rng.integers(90, size=(300, 2)), columns=["source", "target"])
    with pytest.raises(InputError, match="--id stock"):
        from_tables(nodes, edges, quiet=True)
    assert pairs_of(from_tables(nodes, edges, id="stock", quiet=True)) == pairs_in(edges)
    both = nodes.rename(columns={"title": "id"}).assign(id=rng.permutation(90), user_nr=rng.permutation(90))
    with pytest.raises(InputError, match="both 'id' and 'user_nr' hold what edges point at"):
        from_tables(both, edges, quiet=True)
