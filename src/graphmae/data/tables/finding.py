"""Both tables read, and which of their columns are ids: by what was asked, by what edges point at, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, unknown
from . import edges as edge_tables
from .cells import as_text
from .edges import EdgeTables
from .habits import is_text
from .identity import MOST_UNKNOWN, as_ids, guess_ends, guess_id, share_among, without_point
from .reading import name_of, read_table
from .report import Report, some

NAMED = 0.5  # of the edges' ends: a column whose name says that it holds ids is not doubted while it holds as many
MANY_ENDS = 2  # times as many different values as a third column that holds ids by chance, such as a small weight


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
    if not report.problems:
        names = [name for each in (table, *there) if each is not None for name in each.column_names]
        for column in kinds:
            if column not in names:
                report.problem(f"data.kinds: {unknown('column', column, names)}")
    ids = None
    if table is not None:
        roles["id"] = roles["id"] or _id_column(table, likely, there, asked, before, report)
        ids = as_ids(table.column(roles["id"])) if roles["id"] in table.column_names else None
    ends = [_ends(each, name_of(origin, "the edge table"), asked, before, ids, nodes is None, report)
            for origin, each in zip(listed, tables, strict=True) if each is not None]  # fmt: skip
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
        found = read_table(origin, lambda names: _by_name(names, asked, before) or (), None, name, report.note)
    except DataError as error:
        report.failed(error)
        return None
    names = found.column_names
    for column, option in zip(asked, ("source", "target"), strict=True):
        if column and column not in names:
            report.problem(f"{unknown('column', column, names)} (--{option})", name)
    named = any(asked) or guess_ends(names, by_name=True) or _both(before, names)
    if named or len(names) < 2 or not isinstance(origin, str | Path):
        return found
    first = pa.array([n.strip() for n in names[:2]])
    seen = [as_text(found.column(i)).combine_chunks() for i in (0, 1)] if ids is None else list(ids.values())
    if any(bool(pc.any(pc.is_in(first, column)).as_py()) for column in seen):
        return read_table(origin, lambda names: names[:2], True, name)
    if len(names) == 2:
        report.note(f"{name}: its first line was taken as the header ({some(names)})")
    return found


def _both(before: Mapping[str, str], names: Sequence[str] | None = None) -> tuple[str, str] | None:
    """What the ends were called in training, if it is known and these columns have both."""
    ends = before.get("source", ""), before.get("target", "")
    return ends if all(ends) and (names is None or set(ends) <= set(names)) else None


def _by_name(names: Sequence[str], asked: tuple[str, str], before: Mapping[str, str]) -> tuple[str, str] | None:
    source, target = asked
    if source and target:
        return source, target
    guessed = _both(before, names) or guess_ends(names)
    if guessed is None or not (source or target):
        return guessed
    return (source, guessed[1]) if source else (guessed[0], target)


def _likely_ids(table: pa.Table, settled: str = "") -> dict[str, pa.Array]:
    """The column `settled`, or else those with another value in most rows: they may be the nodes' ids."""
    if settled:
        return {settled: as_ids(table.column(settled))} if settled in table.column_names else {}
    found = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if _may_be_ids(values) and pc.count_distinct(values[:200]).as_py() >= 0.5 * min(len(values), 200):
            found[name] = as_ids(values)
    return found


def _may_be_ids(values: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(values.type):
        return all(pc.all(pc.equal(pc.round(part), part)).as_py() for part in (values[:200], values))
    return is_text(values.type) or pa.types.is_integer(values.type)


def _id_column(
    table: pa.Table, likely: Mapping[str, pa.Array], edges: Sequence[pa.Table], asked: tuple[str, str],
    before: Mapping[str, str], report: Report,
) -> str:  # fmt: skip
    """The column edges point at; where none is, the one whose name says so."""
    guessed = guess_id(table.column_names)
    if guessed is not None:
        if not edges or _least_share(edges, asked, before, likely[guessed]) >= NAMED:
            return guessed
        likely = _likely_ids(table)
    holding = {name: ids for name, ids in likely.items() if _least_share(edges, asked, before, ids) >= 1 - MOST_UNKNOWN}
    sizes = {name: pc.count_distinct(ids).as_py() for name, ids in holding.items()}
    best = sorted(sizes, key=lambda name: -sizes[name])[:2]
    if len(best) == 2 and sizes[best[0]] == sizes[best[1]] and not holding[best[0]].equals(holding[best[1]]):
        report.problem(f"both {best[0]!r} and {best[1]!r} hold what edges point at; say which is the id with --id")
        return best[0]
    if best and edges:
        report.note(f"{report.name}: {best[0]!r} is the id column, as it holds what edges point at")
        return best[0]
    if guessed is not None:
        return guessed
    swapped = " (it looks like an edge table: NODES come first, EDGES second)"
    hint = swapped if guess_ends(table.column_names, by_name=True) else ""
    columns = some(table.column_names, 12)
    known = f" (in training it was {before['id']!r}, which is not here)" if before.get("id") else ""
    report.problem(f"which column is the nodes' id{known}? Say so with --id; columns: {columns}{hint}")
    return ""


def _least_share(edges: Sequence[pa.Table], asked: tuple[str, str], before: Mapping[str, str], ids: pa.Array) -> float:
    """How many of the ends are among ids, in the edge table where the fewest are.

    Where it is not known which columns are ends, the two that hold most ids count.
    """
    least = 1.0
    for table in edges:
        names = _by_name(table.column_names, asked, before)
        if names is not None and set(names) <= set(table.column_names):
            share = sum(share_among(table.column(name), ids) for name in names) / 2
        else:
            shares = sorted(share_among(values, ids) for values in table.columns if _may_be_ids(values))
            share = shares[-2] if len(shares) > 1 else 0.0
        least = min(least, share)
    return least


def _ends(
    table: pa.Table,
    name: str,
    asked: tuple[str, str],
    before: Mapping[str, str],
    ids: pa.Array | None,
    is_alone: bool,
    report: Report,
) -> tuple[str, str]:
    """The two columns of an edge table whose values are ids; where ids do not tell, those whose names say so."""
    names = _by_name(table.column_names, asked, before)
    if names is not None and not set(names) <= set(table.column_names):
        return names  # reported already
    if names is not None and names[0] == names[1]:
        report.problem(f"--source and --target are the same column, {names[0]!r}", name)
        return names
    if not all(asked) and ids is not None:
        if names and all(share_among(table.column(n), ids) >= NAMED for n in names):
            return names
        found = _pointing_at(table, ids, asked)
        if found is not None:
            report.note(f"{name}: edges go from {found[0]!r} to {found[1]!r}, the columns that hold ids")
            return found
    if names is None:
        known = f"; in training they were {before['source']!r} and {before['target']!r}" if _both(before) else ""
        what = "an edge list, or give a node table first and an edge table second" if is_alone else "an edge table"
        report.problem(
            f"which columns are an edge's two ends? Say so with --source and --target, if it is {what} "
            f"(NODES come first, EDGES second); columns: {some(table.column_names, 12)}{known}",
            name,
        )
        return "", ""
    return names


def _pointing_at(table: pa.Table, ids: pa.Array, asked: tuple[str, str]) -> tuple[str, str] | None:
    """The two columns that hold ids, in their order, if it is clear which they are."""
    sizes = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if _may_be_ids(values) and share_among(values, ids) >= 1 - MOST_UNKNOWN:
            sizes[name] = pc.count_distinct(values).as_py()
    most = sorted((n for n in sizes if n not in asked), key=lambda n: -sizes[n])
    wanted = 2 - sum(map(bool, asked))
    if len(most) < wanted or (len(most) > wanted and sizes[most[wanted]] * MANY_ENDS > sizes[most[wanted - 1]]):
        return None
    chosen = [name for name in table.column_names if name in most[:wanted]]
    source = asked[0] or chosen.pop(0)
    return source, asked[1] or chosen.pop(0)


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
    for name in names:
        if (ids := without_point(table.column(name))) is not None:
            table = table.set_column(table.column_names.index(name), name, ids)
            report.repair(f"all ids in {name!r} of {called} have a trailing .0 (12.0 for 12); it was cut off")
    return table
