"""Tables sorted part by part are the table sorted at once."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmae.experiments import ranking
from graphmae.experiments.ranking import Order, Sorted, merged
from graphmae.runtime.lines import line_writer

VALUES = st.lists(st.sampled_from([0.5, 1.0, 1.5, -2.0, float("nan")]), min_size=1, max_size=40)


def sorted_file(path: Path, values: np.ndarray, first: int, order: Order) -> Sorted:
    """One line per row, as `predict_library` leaves a part: a cell with ends of lines in it, and the row's number."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = order.of(values)[1].tolist()
        line = line_writer()
        file.writelines(line([f"a\nb\rc{first + row}", first + row]) for row in rows)
    return Sorted(path, values, first)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(1, 7), st.booleans(), st.integers(0, 12), st.integers(2, 4))
def test_parts_merged_are_the_whole_sorted(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], size: int, descending: bool, top: int, most_open: int
) -> None:
    folder, order = tmp_path_factory.mktemp("parts"), Order(1, descending, top)
    whole = np.stack([np.zeros(len(values)), values], axis=1).astype(np.float32)
    files = [
        sorted_file(folder / f"{first}.csv", whole[first : first + size], first, order)
        for first in range(0, len(values), size)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "MOST_OPEN", most_open)
        lines = "".join(merged(files, order, ",", folder))
    found = [int(row[1]) for row in csv.reader(lines.splitlines(keepends=True))]
    ranked = sorted(
        range(len(values)), key=lambda row: (np.isnan(values[row]), -values[row] if descending else values[row])
    )
    assert found == ranked[: top or None]  # of equals the first row comes first; what is not a molecule comes last


def test_no_more_files_are_open_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may hold about a thousand open files: a library of ten million molecules has more parts."""
    monkeypatch.setattr(ranking, "MOST_OPEN", 3)
    order, opened, most = Order(0), 0, 0
    whole = Sorted.lines

    def counted(self: Sorted, *args: object):  # type: ignore[no-untyped-def]
        nonlocal opened, most
        opened += 1
        most = max(most, opened)
        yield from whole(self, *args)  # type: ignore[arg-type]
        opened -= 1

    monkeypatch.setattr(Sorted, "lines", counted)
    random = np.random.default_rng(0)
    files = [
        sorted_file(tmp_path / f"{part}.csv", random.random((4, 1)).astype(np.float32), 4 * part, order)
        for part in range(20)
    ]
    assert len(list(merged(files, order, ",", tmp_path))) == 80
    assert most <= 3
