"""Tables that are not the nodes and the edges of one graph: what is said about them, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError
from .cells import as_text
from .column_names import ID_WORDS, guess_ends, guess_id, is_called_id, words_of
from .reading import name_of
from .report import count


def refuse_same_tables(
    nodes: Any, table: pa.Table | None, listed: Sequence[Any], tables: Sequence[pa.Table | None], is_clear: bool
) -> None:
    """Refuse one table as two. The node table may be the edge table too where it `is_clear` which columns are ends."""
    given: list[tuple[Any, pa.Table]] = []
    if table is not None and not is_clear:
        given.append((nodes, table))
    for origin, edges in zip(listed, tables, strict=True):
        if edges is None:
            continue
        for other, before in given:
            if _are_same(origin, edges, other, before):
                if before is table:
                    raise DataError(
                        f"{name_of(origin, 'the edge table')} has the same rows as the node table. Give a table with "
                        "one row per edge. If the rows name other rows of this table, say with --source and --target "
                        "which columns do"
                    )
                names = dict.fromkeys(name_of(each, "an edge table") for each in (other, origin))
                raise DataError(f"{' and '.join(names)}: the same edges are given twice; give them once")
        given.append((origin, edges))


def _are_same(origin: Any, table: pa.Table, other_origin: Any, other: pa.Table) -> bool:
    if origin is other_origin:
        return True
    if isinstance(origin, str | Path) and isinstance(other_origin, str | Path) and Path(origin).samefile(other_origin):
        return True
    if table.column_names != other.column_names or table.num_rows != other.num_rows:
        return False
    if any(pa.types.is_nested(column.type) for column in table.columns):
        return table.equals(other)
    return all(as_text(one).equals(as_text(two)) for one, two in zip(table.columns, other.columns, strict=True))


def refuse_second_node_table(nodes: str, node_table: pa.Table, unclear: Sequence[tuple[str, pa.Table]]) -> None:
    """Say what to do with two kinds of nodes, where one of the edge tables in doubt has a row per thing."""
    if guess_ends(node_table.column_names):
        return  # the tables may be in the wrong order
    own = guess_id(node_table.column_names) or node_table.column_names[0]
    for other, table in unclear:
        called = next((name for name in table.column_names if is_called_id(name)), None)
        if called is None or guess_ends(table.column_names) or not _has_a_row_per_value(table.column(called)):
            continue
        raise DataError(
            f"{other} looks like a second node table (another {called!r} in every row), and a graph has one. Stack "
            "both into one table with a column 'kind' and ids that differ: "
            f"pandas.concat([a.assign(kind='a', id='a-' + a[{own!r}].astype(str)), "
            f"b.assign(kind='b', id='b-' + b[{called!r}].astype(str))]), a and b being {nodes} and {other}. "
            f"Write these ids into the edge table too, and give the two tables. If {other} holds edges, say with "
            "--source and --target which columns are their ends"
        )


def _has_a_row_per_value(values: pa.ChunkedArray) -> bool:
    return len(values) > 1 and pc.count_distinct(values).as_py() == len(values)


def tell_two_sets(ends: tuple[str, str], shared: int) -> str:
    """What to do with ids of two sets that are the same, so that nodes of both would be one."""
    columns = []
    for role, name in zip(("source", "target"), ends, strict=True):
        thing = "-".join(word for word in words_of(name) if word not in ID_WORDS)
        columns.append(f"{role}='{thing}-' + table[{name!r}].astype(str)")
    return (
        f"by their names, {ends[0]!r} and {ends[1]!r} are ids of two sets, and {count(shared, 'id is', 'ids are')} in "
        "both columns, so nodes of both sets with the same id would be one node. Give every node an id of its own, "
        f"with pandas: table.assign({', '.join(columns)}).drop(columns={[*ends]!r}). Use the same ids in the node "
        "table, if there is one. If both columns hold ids of one set, call them source and target"
    )


def doubt(table: pa.Table, ends: tuple[str, str], id_name: str, nodes: str) -> str:
    """The question about two columns that may be the ends of edges, or whose numbers are ids by chance."""
    source, target = ends
    whose = f"are ids in {nodes}" if id_name else "are in both columns"
    text = (
        f"are {source!r} and {target!r} the two ends of an edge? Their numbers {whose}, but nearly any whole numbers "
        f"would be, and their names do not settle it. If they are: --source {source} --target {target}"
    )
    if not id_name:
        return text
    values = next((n for n in table.column_names if n not in ends and not is_called_id(n)), None)
    is_told_apart = values is not None and pc.count_distinct(table.column(values)).as_py() > 1
    column = (
        f"table.pivot_table(index={source!r}, columns={target!r}, values={values!r}, fill_value=0)"
        f".add_prefix('{target} ')"
        if is_told_apart
        else f"table.groupby({source!r})[{target!r}].agg(list)"
    )
    return (
        f"{text}. If this is a long table, with several rows per node and one for every {target!r}, make columns of "
        f"the node table of it, with pandas: nodes.join({column}, on={id_name!r}). If {target!r} are things of "
        f"another kind (users and items), make them nodes too: one node table with both, ids that differ, and a column "
        "'kind'"
    )
