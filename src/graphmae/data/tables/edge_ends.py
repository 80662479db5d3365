"""The two columns of an edge table that are the ends of its edges: by their names and by what they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from . import unclear_tables
from .column_names import (
    are_plain,
    are_two_sets,
    guess_ends,
    guess_related_ends,
    have_another_meaning,
    is_called_id,
    words_of,
)
from .habits import is_text
from .identity import MOST_UNKNOWN, SURE_NATS, as_ids, hold_by_chance, share_among
from .reading import has_no_header
from .report import Report, some

NAMED = 0.5  # of the edges' ends: a column whose name says that it holds ids is not doubted while it holds as many
MANY_ENDS = 2  # times as many different values as a third column that holds ids by chance, such as a small weight


@dataclass(frozen=True)
class Nodes:
    """The node table, as far as edges can be compared with it."""

    table: str
    id_name: str
    ids: pa.Array
    rows: pa.Table

    @property
    def things(self) -> set[str]:
        """What the nodes may be called: by the table's name, and by that of the id column."""
        words = {*words_of(self.table.split(".")[0]), *words_of(self.id_name)}
        return words | {word.removesuffix("s") for word in words}


def find_ends(
    table: pa.Table,
    name: str,
    asked: tuple[str, str],
    before: Mapping[str, str],
    nodes: Nodes | None,
    is_alone: bool,
    is_further: bool,
    report: Report,
) -> tuple[str, str]:
    """The two columns of an edge table whose values are ids, and whose names or values leave no doubt about it."""
    names = named_ends(table.column_names, asked, before)
    if names is not None and not set(names) <= set(table.column_names):
        return names  # reported already
    if names is not None and names[0] == names[1]:
        report.problem(f"--source and --target are the same column, {names[0]!r}", name)
        return names
    if names is not None and all(asked):
        if mixed := _numbers_in_both(table, names):
            report.warn(f"{name}: {unclear_tables.tell_two_sets(names, mixed)}")
        return names
    if nodes is None and is_alone and not any(asked) and not ends_of_training(before, table.column_names):
        two_sets = _ids_of_two_sets(table)
        if two_sets is not None and not guess_ends(table.column_names):
            report.problem(unclear_tables.tell_two_sets(two_sets, _numbers_in_both(table, two_sets)), name)
            return two_sets
    if nodes is None and is_alone and names is not None and not guess_ends(table.column_names):
        if _are_rows_of_things(table, names):
            names = None
        elif not guess_related_ends(names, "") and _mix_two_sets(table, names):
            report.problem(unclear_tables.doubt(table, names, "", report.name), name)
        if names is not None:
            return names
    if nodes is not None:
        holding = {
            column: share_among(values, nodes.ids)
            for column, values in zip(table.column_names, table.columns, strict=True)
            if may_be_ids(values)
        }
        likely = [c for c in holding if holding[c] >= NAMED]
        named = (
            ends_of_training(before, table.column_names)
            or guess_ends(likely, nodes.things, True)
            or guess_related_ends(likely, nodes.id_name)
        )
        if named and all(holding.get(column, 0) >= NAMED for column in named) and not any(asked):
            is_guess = is_further and has_no_header(table) and hold_by_chance(table.column(named[0]), nodes.ids)
            if not is_guess and (ends_of_training(before, table.column_names) or not _rivals(named, holding)):
                if len(table.column_names) > 2 and not are_plain(named):
                    report.note(f"{name}: edges go from {named[0]!r} to {named[1]!r}, the columns that hold ids")
                return named
            names = named
        sure = [c for c in holding if holding[c] >= 1 - MOST_UNKNOWN]
        found = _pointing_at(table, nodes.ids, asked, sure)
        called = [c for c in sure if is_called_id(c)]
        pair = (called[0], called[1]) if len(called) == 2 and not any(asked) else found
        if pair is not None and not any(asked) and (kind := _kind_apart(table, pair, nodes)):
            report.note(f"{name}: edges go from {pair[0]!r} to {pair[1]!r}, between nodes that differ in {kind!r}")
            return pair
        if found is not None:
            if any(hold_by_chance(table.column(column), nodes.ids) for column in found if column not in asked):
                if names and set(names) <= set(holding):
                    pair = names
                report.problem(unclear_tables.doubt(table, pair or found, nodes.id_name, nodes.table), name)
            elif is_further:
                report.warn(f"{name}: edges go from {found[0]!r} to {found[1]!r}, as these columns hold ids of nodes")
            else:
                report.note(f"{name}: edges go from {found[0]!r} to {found[1]!r}, the columns that hold ids")
            return found
    if names is None:
        known = (
            f"; in training they were {before['source']!r} and {before['target']!r}" if ends_of_training(before) else ""
        )
        what = "an edge list, or give a node table first and an edge table second" if is_alone else "an edge table"
        report.problem(
            f"which columns are an edge's two ends? Say so with --source and --target, if it is {what} "
            f"(NODES come first, EDGES second); columns: {some(table.column_names, 12)}{known}",
            name,
        )
        return "", ""
    return names


def _rivals(ends: tuple[str, str], shares: Mapping[str, float]) -> list[str]:
    """Columns that are called ids and hold ids, beside ends whose names may have another meaning: start and end."""
    if not have_another_meaning(ends):
        return []
    return [c for c, share in shares.items() if share >= 1 - MOST_UNKNOWN and c not in ends and is_called_id(c)]


def _are_rows_of_things(table: pa.Table, names: tuple[str, str]) -> bool:
    """Whether the first column is an id that is another one in every row, and the second holds something else."""
    first, second = (table.column(name) for name in names)
    is_unique = pc.count_distinct(first).as_py() == len(first) > 1
    return is_called_id(names[0]) and is_unique and share_among(second, as_ids(first)) == 0


def _kind_apart(table: pa.Table, ends: tuple[str, str], nodes: Nodes) -> str:
    """A column of the node table with two values, one at all sources and the other at all targets; "" for none.

    Columns of numbers that are ids by chance seldom do that: as many as there are different ends would have to.
    """
    rows = [pc.index_in(as_ids(table.column(end)).unique(), nodes.ids).drop_null() for end in ends]
    for name, values in zip(nodes.rows.column_names, nodes.rows.columns, strict=True):
        if pa.types.is_nested(values.type) or pc.count_distinct(values[:200]).as_py() > 2:
            continue
        cells = values.combine_chunks()
        if len(cells.unique()) != 2:
            continue
        found = [cells.take(each).unique() for each in rows]
        if [len(each) for each in found] != [1, 1] or found[0].equals(found[1]):
            continue
        shares = [pc.mean(pc.is_in(cells, each).cast(pa.int8())).as_py() for each in found]
        if -sum(len(each) * math.log(share) for each, share in zip(rows, shares, strict=True)) >= SURE_NATS:
            return name
    return ""


def _ids_of_two_sets(table: pa.Table) -> tuple[str, str] | None:
    """The two columns that are called ids, if only two are, of two sets, and some of their ids are the same."""
    called = [
        n for n, values in zip(table.column_names, table.columns, strict=True) if is_called_id(n) and may_be_ids(values)
    ]
    pair = (called[0], called[1]) if len(called) == 2 else None
    return pair if pair is not None and _numbers_in_both(table, pair) else None


def _numbers_in_both(table: pa.Table, names: tuple[str, str]) -> int:
    """How many ids are in both columns, though the names say that the columns hold ids of two sets."""
    if not are_two_sets(*names):
        return 0
    one, other = (as_ids(table.column(name)).unique() for name in names)
    shared = pc.and_(pc.is_in(one, other), pc.not_equal(one, ""))
    return int(pc.sum(shared).as_py() or 0)


def _mix_two_sets(table: pa.Table, names: tuple[str, str]) -> bool:
    """Whether numbers of the two columns would be the same nodes, though nothing but chance says that they are."""
    source, target = (table.column(name) for name in names)
    ids = as_ids(target)
    return share_among(source, ids) > 0 and hold_by_chance(source, ids) and hold_by_chance(target, as_ids(source))


def _pointing_at(
    table: pa.Table, ids: pa.Array, asked: tuple[str, str], holding: Sequence[str]
) -> tuple[str, str] | None:
    """The two columns, of those `holding` ids, that are the ends, in their order, if it is clear which they are."""
    wanted = 2 - sum(map(bool, asked))
    free = [name for name in holding if name not in asked]
    sure = [name for name in free if not hold_by_chance(table.column(name), ids)]
    sizes = {name: pc.count_distinct(table.column(name)).as_py() for name in (sure if len(sure) >= wanted else free)}
    most = sorted(sizes, key=lambda n: -sizes[n])
    if len(most) < wanted:
        return None
    if len(most) > wanted and len(sure) >= wanted and sizes[most[wanted]] * MANY_ENDS > sizes[most[wanted - 1]]:
        return None
    chosen = [name for name in table.column_names if name in most[:wanted]]
    source = asked[0] or chosen.pop(0)
    return source, asked[1] or chosen.pop(0)


def named_ends(names: Sequence[str], asked: tuple[str, str], before: Mapping[str, str]) -> tuple[str, str] | None:
    """The ends as asked for, as in training, or by their names; of two columns those."""
    source, target = asked
    if source and target:
        return source, target
    guessed = (
        ends_of_training(before, names) or guess_ends(names) or ((names[0], names[1]) if len(names) == 2 else None)
    )
    if guessed is None or not (source or target):
        return guessed
    return (source, guessed[1]) if source else (guessed[0], target)


def ends_of_training(before: Mapping[str, str], names: Sequence[str] | None = None) -> tuple[str, str] | None:
    """What the ends were called in training, if it is known and these columns have both."""
    ends = before.get("source", ""), before.get("target", "")
    return ends if all(ends) and (names is None or set(ends) <= set(names)) else None


def may_be_ids(values: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(values.type):
        return all(pc.all(pc.equal(pc.round(part), part)).as_py() for part in (values[:200], values))
    return is_text(values.type) or pa.types.is_integer(values.type)


def _columns_that_point(
    table: pa.Table, asked: tuple[str, str], before: Mapping[str, str], ids: pa.Array
) -> list[tuple[float, str]]:
    """(how much of it is among the ids, name) of the two columns that are the ends, if these are the ids."""
    names = named_ends(table.column_names, asked, before)
    if names is None or not set(names) <= set(table.column_names) or not (any(asked) or ends_of_training(before)):
        shares = {
            n: share_among(v, ids) for n, v in zip(table.column_names, table.columns, strict=True) if may_be_ids(v)
        }
        named = guess_ends([name for name, share in shares.items() if share >= NAMED], (), True) or names
        if named is None or not set(named) <= set(shares):
            return sorted(((share, name) for name, share in shares.items()), reverse=True)[:2]
        names = named
    return [(share_among(table.column(name), ids), name) for name in names]


def least_share(edges: Sequence[pa.Table], asked: tuple[str, str], before: Mapping[str, str], ids: pa.Array) -> float:
    """How many of the ends are among ids, in the edge table where the fewest are."""
    least = 1.0
    for table in edges:
        shares = [share for share, _ in _columns_that_point(table, asked, before, ids)]
        least = min(least, sum(shares) / 2 if len(shares) == 2 else 0.0)
    return least


def point_by_chance(
    edges: Sequence[pa.Table], asked: tuple[str, str], before: Mapping[str, str], ids: pa.Array
) -> bool:
    return all(
        hold_by_chance(table.column(name), ids)
        for table in edges
        for _, name in _columns_that_point(table, asked, before, ids)
    )
