"""Both tables read, and which of their columns are ids: by what was asked, by what edges point at, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, unknown
from . import edges as edge_tables
from . import unclear_tables
from .cells import as_text
from .column_names import guess_ends, guess_id, is_called_id, words_of
from .edge_ends import NAMED, Nodes, ends_of_training, find_ends, least_share, may_be_ids, named_ends, point_by_chance
from .edges import EdgeTables
from .habits import is_text
from .identity import MOST_UNKNOWN, as_ids, in_own_type, without_point
from .reading import is_from_text, name_of, read_table
from .report import Report, some


def read_tables(
    nodes: Any, listed: list[Any], roles: dict[str, str], asked: tuple[str, str], before: Mapping[str, str],
    kinds: Mapping[str, str], report: Report,
) -> tuple[pa.Table | None, EdgeTables]:  # fmt: skip
    """(the node table or None, the edge tables), `roles` filled in.

    `before` are the names of the columns in the tables a model was trained on, used where a table has them.

    Stops with the problems of all tables: files that cannot be read, columns that are not there or not to be found.
    """
    if nodes is None and any(roles.values()):
        raise DataError("--id, --label and --split name columns of a node table, and there is none")
    table = None if nodes is None else _node_table(nodes, roles, before, report)
    likely = {} if table is None else _likely_ids(table, roles["id"] or guess_id(table.column_names) or "")
    tables = [_edge_table(each, asked, before, None if nodes is None else likely, report) for each in listed]
    there = [each for each in tables if each is not None]
    unclear_tables.refuse_same_tables(nodes, table, listed, tables, is_clear=all(asked))
    if not report.problems:
        names = [name for each in (table, *there) if each is not None for name in each.column_names]
        for column in kinds:
            if column not in names:
                report.problem(f"data.kinds: {unknown('column', column, names)}")
    ids = None
    if table is not None:
        roles["id"] = roles["id"] or _id_column(table, likely, there, asked, before, report)
        ids = as_ids(table.column(roles["id"])) if roles["id"] in table.column_names else None
    nodes_are = Nodes(report.name, roles["id"], ids, table) if ids is not None and table is not None else None
    ends, unclear = [], []
    for number, (origin, each) in enumerate(zip(listed, tables, strict=True)):
        if each is None:
            continue
        name = name_of(origin, "the edge table" if len(listed) == 1 else f"edge table {number + 1}")
        problems = len(report.problems)
        ends.append(find_ends(each, name, asked, before, nodes_are, nodes is None, number > 0, report))
        if len(report.problems) > problems or not set(ends[-1]) <= set(each.column_names):
            unclear.append((name, each))
    if table is not None and len(listed) > 1:
        unclear_tables.refuse_second_node_table(report.name, table, unclear)
    _refuse_kinds_of_ids(kinds, roles, ends, table, there, report)
    report.stop_on_problems()
    if table is not None:
        table = _as_written(nodes, table, (roles["id"],))
        table = _whole_ids(table, (roles["id"],), report.name, report)
    settled = []
    for origin, each, pair in zip(listed, there, ends, strict=True):
        written = _as_written(origin, each, pair)
        settled.append(_whole_ids(written, pair, name_of(origin, "the edge table"), report))
    return table, edge_tables.assemble(listed, settled, ends, before)


def _refuse_kinds_of_ids(
    kinds: Mapping[str, str], roles: Mapping[str, str], ends: Sequence[tuple[str, str]], table: pa.Table | None,
    edges: Sequence[pa.Table], report: Report,
) -> None:  # fmt: skip
    """A kind is asked for of a column that is no feature in any table, so it would have no effect."""
    free = [set() if table is None else {*table.column_names} - {*roles.values()}]
    free += [{*each.column_names} - {*pair} for each, pair in zip(edges, ends, strict=True)]
    used = {column: f"the {role} column" for role, column in roles.items()}
    used |= {column: "an end of the edges" for pair in ends for column in pair}
    for column in kinds:
        if column in used and not any(column in columns for columns in free):
            report.problem(f"data.kinds: {column!r} is {used[column]}, not a feature, so it has no kind; leave it out")


def _node_table(nodes: Any, roles: dict[str, str], before: Mapping[str, str], report: Report) -> pa.Table | None:
    def remembered(names: list[str]) -> dict[str, str]:
        return {role: named or (before[role] if before.get(role) in names else "") for role, named in roles.items()}

    def as_written(names: list[str]) -> list[str]:
        kept = {*remembered(names).values(), guess_id(names)}
        return [name for name in names if name in kept]

    try:
        table = read_table(nodes, as_written, name=report.name, note=report.note)
    except DataError as error:
        report.failed(error)
        return None
    roles |= remembered(table.column_names)
    for option, column in roles.items():
        if column and column not in table.column_names:
            report.problem(f"{unknown('column', column, table.column_names)} (--{option})")
    return table


def _edge_table(
    origin: Any, asked: tuple[str, str], before: Mapping[str, str], ids: Mapping[str, pa.Array] | None, report: Report
) -> pa.Table | None:
    """One edge table. Where its first line names no ends we know, it may be an edge already.

    `ids` are the node table's columns that may be its ids (None: there is no node table): a first line that names two
    of them is not a header.
    """
    name = name_of(origin, "the edge table")
    try:
        found = read_table(origin, lambda names: named_ends(names, asked, before) or (), None, name, report.note)
    except DataError as error:
        report.failed(error)
        return None
    names = found.column_names
    for column, option in zip(asked, ("source", "target"), strict=True):
        if column and column not in names:
            report.problem(f"{unknown('column', column, names)} (--{option})", name)
    named = any(asked) or guess_ends(names) or ends_of_training(before, names)
    if named or len(names) < 2 or not isinstance(origin, str | Path):
        return found
    first = pa.array([n.strip() for n in names[:2]])
    seen = [as_text(found.column(i)).combine_chunks() for i in (0, 1)] if ids is None else list(ids.values())
    if any(bool(pc.any(pc.is_in(first, column)).as_py()) for column in seen):
        return read_table(origin, lambda names: names[:2], True, name)
    if len(names) == 2:
        report.note(f"{name}: its first line was taken as the header ({some(names)})")
    return found


def _likely_ids(table: pa.Table, settled: str = "") -> dict[str, pa.Array]:
    """The column `settled`, or else those with another value in most rows: they may be the nodes' ids."""
    if settled:
        return {settled: as_ids(table.column(settled))} if settled in table.column_names else {}
    found = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if may_be_ids(values) and pc.count_distinct(values[:200]).as_py() >= 0.5 * min(len(values), 200):
            found[name] = as_ids(values)
    return found


def _id_column(
    table: pa.Table, likely: Mapping[str, pa.Array], edges: Sequence[pa.Table], asked: tuple[str, str],
    before: Mapping[str, str], report: Report,
) -> str:  # fmt: skip
    """The column edges point at; where none is, the one whose name says so.

    Numbers that point at a column as they would at any other are ids only where the column's name says so.
    """
    guessed = guess_id(table.column_names)
    if guessed is not None:
        share = least_share(edges, asked, before, likely[guessed]) if edges else 1.0
        if share >= NAMED:
            if edges and (rival := _rival_of(guessed, share, table, edges, asked, before)):
                report.problem(
                    f"both {guessed!r} and {rival!r} hold what edges point at; say which is the id with --id"
                )
            return guessed
        likely = _likely_ids(table)
    holding = {name: ids for name, ids in likely.items() if least_share(edges, asked, before, ids) >= 1 - MOST_UNKNOWN}
    sizes = {name: pc.count_distinct(ids).as_py() for name, ids in holding.items()}
    best = sorted(sizes, key=lambda name: (not is_called_id(name), -sizes[name]))[:2]
    if len(best) == 2 and sizes[best[0]] == sizes[best[1]] and is_called_id(best[0]) == is_called_id(best[1]):
        first, second = best
        if not holding[first].equals(holding[second]):
            report.problem(f"both {first!r} and {second!r} hold what edges point at; say which is the id with --id")
            return first
    if best and edges:
        if not is_called_id(best[0]) and point_by_chance(edges, asked, before, holding[best[0]]):
            report.problem(
                f"which column is the nodes' id? Edges may point at {best[0]!r}, but so would most whole numbers. "
                f"If it is the id, say so with --id {best[0]}"
            )
            return best[0]
        report.note(f"{report.name}: {best[0]!r} is the id column, as it holds what edges point at")
        return best[0]
    if guessed is not None:
        return guessed
    swapped = " (it looks like an edge table: NODES come first, EDGES second)"
    hint = swapped if guess_ends(table.column_names) else ""
    columns = some(table.column_names, 12)
    known = f" (in training it was {before['id']!r}, which is not here)" if before.get("id") else ""
    report.problem(f"which column is the nodes' id{known}? Say so with --id; columns: {columns}{hint}")
    return ""


def _rival_of(
    guessed: str, share: float, table: pa.Table, edges: Sequence[pa.Table], asked: tuple[str, str],
    before: Mapping[str, str],
) -> str:  # fmt: skip
    """Another column that is called an id, has another value in every row, and holds the ends as well; "" for none."""
    for name, ids in _likely_ids(table).items():
        if name != guessed and is_called_id(name) and "index" not in words_of(name):
            is_unique = pc.count_distinct(ids).as_py() == len(ids) and not ids.equals(as_ids(table.column(guessed)))
            if is_unique and least_share(edges, asked, before, ids) >= share:
                return name
    return ""


def _as_written(origin: Any, table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with the text of its id columns as it is in the file: 007 is not 7."""
    if not isinstance(origin, str | Path) or all(is_text(table.column(name).type) for name in names):
        return table
    again = read_table(origin, lambda _: names)
    if again.column_names != table.column_names:  # it has no header
        return table
    for name in names:
        table = table.set_column(table.column_names.index(name), name, again.column(name))
    return table


def _whole_ids(table: pa.Table, names: Sequence[str], called: str, report: Report) -> pa.Table:
    """The table with ids in the type they were meant to have: 12 of a text file, and 12.0, are whole numbers."""
    from_text = is_from_text(table)
    for name in names:
        ids = table.column(name)
        if (without := without_point(ids)) is not None:
            ids = without
            report.repair(f"all ids in {name!r} of {called} have a trailing .0 (12.0 for 12); it was cut off")
        ids = in_own_type(ids) if from_text else ids
        table = table.set_column(table.column_names.index(name), name, ids)
    return table
