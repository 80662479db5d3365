from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphmae.reporting import Entry, Experiment, entry_of, experiments_of, read_ledger, write_ledger
from graphmae.reporting.comparison import Comparison
from graphmae.reporting.ledger import cell, compared, nested, paired
from graphmae.results import Result


def test_entries_survive_the_file_and_lists_stay_on_one_line(tmp_path: Path) -> None:
    entry = Entry(
        "node/cora", ["mask.rate=0.1"], "last", commit="abc", seeds=[0, 1], rows={"raw": {"last": [1.5, 2.5]}}
    )
    write_ledger(tmp_path / "node-cora.json", {"b": entry, "a": Entry("x", unavailable="no data")})
    text = (tmp_path / "node-cora.json").read_text()
    assert '"last": [1.5, 2.5]' in text and text.index('"a"') < text.index('"b"')
    assert read_ledger(tmp_path / "node-cora.json")["b"] == entry
    assert json.loads(text)["experiments"]["a"]["unavailable"] == "no data"
    assert read_ledger(tmp_path / "none.json") == {}


def test_an_entry_keeps_scores_by_seed_the_commit_and_the_published_number_of_the_result() -> None:
    runs = [{"seed": s, "rows": {"pretrained": {"last": 80.0 + s}}} for s in (0, 1)]
    result = Result("node/cora", "accuracy", "last", runs, published={"mean": 84.2}, commit="abc")
    entry = entry_of(Experiment("node", "cora", "graphmae", "node/cora", 2), result)
    assert (entry.scores(), entry.commit, entry.published) == ([80.0, 81.0], "abc", {"mean": 84.2})


def test_verdicts() -> None:
    published = {"mean": 80.0, "std": 0.4, "seeds": 20}
    assert compared([80.1, 79.9, 80.2, 80.0], published)[2] == "reproduced"
    assert compared([82.1, 81.9, 82.2, 82.0], published)[2] == "above"
    assert compared([78.1, 77.9, 78.2, 78.0], published)[2] == "below"
    assert compared([70.0, 90.0], published)[2] == "too few seeds to tell"
    assert compared([80.0], published)[2] == "one seed: no verdict"
    assert compared([80.0, 81.0], None)[2] == "no published number"


def test_paired_differences() -> None:
    from scipy.stats import ttest_rel

    ours, others = [80.0, 81.0, 83.0, 82.5], [79.0, 80.5, 81.0, 82.0]
    difference, width, p = paired(ours, others)
    assert (difference, p) == (pytest.approx(1.0), pytest.approx(ttest_rel(ours, others).pvalue))
    assert width > 0
    assert paired([1.0, 2.0], [1.0, 2.0])[2] == 1.0
    assert paired([80.0], [79.0])[2] == 1.0  # one seed shows nothing


def test_nested_choice_takes_what_is_best_on_inner_folds_whatever_the_test_says() -> None:
    first = [{"chosen-inner": [90.0, 70.0], "chosen-test": [50.0, 60.0]}]
    second = [{"chosen-inner": [80.0, 75.0], "chosen-test": [99.0, 88.0]}]
    assert nested([first, second]) == [(50.0 + 88.0) / 2]


def test_cells_show_deviation_and_interval() -> None:
    assert cell([1.0, 2.0, 3.0]) == "2.00 ± 1.00 (2.48)"
    assert (cell([2.0]), cell([])) == ("2.00", "–")


def test_the_tables_of_the_paper_name_recipes_that_exist() -> None:
    from graphmae.config import load, names

    known = set(names())
    for experiment in experiments_of("all"):
        assert experiment.recipe in known, experiment
    changed = {(e.recipe, e.changes) for e in experiments_of("ablation")}
    for recipe, changes in changed:
        load(recipe, changes)
    keys = [(e.table, e.group, e.name) for e in experiments_of("all")]
    assert len(set(keys)) == len(keys)


def test_a_table_says_what_is_not_there(tmp_path: Path) -> None:
    experiments = [Experiment("node", "cora", name, "node/cora", 2) for name in ("done", "missing", "without")]
    write_ledger(
        tmp_path / "node-cora.json",
        {
            "done": Entry(
                "node/cora", [], "last", published={"mean": 84.2, "std": 0.4, "seeds": 20}, hardware="CPU", seconds=3,
                seeds=[0, 1, 2], rows={"pretrained": {"last": [84.0, 84.4, 84.1]}},
            ),
            "without": Entry("node/cora", unavailable="data not at hand: no file"),
        },
    )  # fmt: skip
    lines = Comparison.of(experiments, tmp_path).lines()
    assert lines[0][2:6] == ["84.17 ± 0.21 (0.52)", "84.2 ± 0.4", "-0.03 ± 0.55", "reproduced"]
    assert (lines[1][5], lines[2][5]) == ("not run", "data not at hand: no file")
