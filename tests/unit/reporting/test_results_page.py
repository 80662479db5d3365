"""The page shows what the ledger has, marks the best row whichever it is, and says what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from graphmae.reporting import Entry, write_ledger
from graphmae.reporting.ablations import decay_table, effects_table
from graphmae.reporting.figures import figures
from graphmae.reporting.results_page import blocks, graph_gain, graph_table, node_table


def fold(test: float, inner: float) -> dict[str, list[float]]:
    return {"chosen-test": [test] * 10, "chosen-inner": [inner] * 10}


def test_bold_is_the_best_row_not_ours(tmp_path: Path) -> None:
    rows = {"raw": {"last": [50.0, 51.0]}, "untrained": {"last": [60.0, 60.5]}, "pretrained": {"last": [80.0, 80.4]}}
    entry = Entry("node/cora", [], "last", seeds=[0, 1], rows=rows)
    better = Entry("supervised/cora-gat", [], "best-validation", rows={"supervised": {"best-validation": [90.0, 91.0]}})
    write_ledger(tmp_path / "node-cora.json", {"graphmae": entry, "supervised-gat": better})
    table = node_table(tmp_path, ["cora"])
    bold = [line for line in table.splitlines() if "**" in line]
    assert len(bold) == 1 and "supervised GAT" in bold[0]


def test_whole_graphs_choose_between_trainings_inside_each_fold(tmp_path: Path) -> None:
    def entry(pretrained: tuple[float, float], untrained: tuple[float, float]) -> Entry:
        rows = {
            row: {"folds": [value[0], value[0] + 1], "chosen": [value[0], value[0]]}
            for row, value in (("pretrained", pretrained), ("untrained", untrained), ("raw", (40.0, 40.0)))
        }
        folds = {
            row: [fold(*value), fold(*value)] for row, value in (("pretrained", pretrained), ("untrained", untrained))
        }
        return Entry("graph/mutag", [], "folds", seeds=[0, 1], rows=rows, folds=folds)

    published, tuned = entry((85.0, 80.0), (83.0, 84.0)), entry((70.0, 90.0), (88.0, 81.0))
    write_ledger(tmp_path / "graph-mutag.json", {"published": published, "tuned": tuned})
    line = next(line for line in graph_table(tmp_path).splitlines() if "MUTAG" in line)
    cells = [text.strip() for text in line.split("|")]
    assert cells[4].startswith("83.00")  # untrained: the published architecture
    assert cells[6].startswith("**85.50") and cells[7].startswith("85.00")  # the published training, held and chosen
    assert cells[8].startswith("70.00")  # either: the tuned one has the better inner folds, though worse test folds
    assert "| MUTAG | reading chosen inside | 2 | 85.00 | 83.00 | +2.00" in graph_gain(tmp_path)


def test_a_difference_without_evidence_is_not_shown_whatever_its_sign(tmp_path: Path) -> None:
    rows = {"pretrained": {"folds": [80.0, 84.0, 81.0]}, "untrained": {"folds": [82.0, 82.0, 82.0]}}
    write_ledger(tmp_path / "graph-mutag.json", {"published": Entry("graph/mutag", [], "folds", rows=rows)})
    assert graph_gain(tmp_path).splitlines()[-1].endswith("| not shown |")


def test_effects_are_confirmed_opposite_or_neither(tmp_path: Path) -> None:
    def entry(*scores: float) -> Entry:
        return Entry("x", [], "last", rows={"pretrained": {"last": list(scores)}})

    write_ledger(
        tmp_path / "ablation-cora.json",
        {
            "full": entry(84.0, 84.1, 84.2), "no-mask": entry(80.0, 80.2, 80.1), "no-remask": entry(86.0, 86.3, 86.1),
            "mse": entry(83.0, 85.2, 84.1),
        },
    )  # fmt: skip
    verdicts = [line.split("|")[8].strip() for line in effects_table(tmp_path).splitlines() if "| Cora |" in line]
    short = [verdict.split(" at the published")[0] for verdict in verdicts]
    assert short == ["confirmed", "opposite", "not confirmed", "not run yet", "not run yet"]
    assert verdicts[0].endswith("without it not run yet")  # neither side has had its own weight decay


def test_an_ablation_has_the_weight_decay_that_validation_chooses(tmp_path: Path) -> None:
    def entry(scores: list[float], validation: float) -> Entry:
        rows = {"pretrained": {"last": scores, "validation-last": [validation] * len(scores)}}
        return Entry("x", [], "last", rows=rows)

    entries = {
        "full": entry([84.0, 84.1, 84.2], 82.0), "full-no-decay": entry([85.0, 85.1, 85.2], 81.0),
        "mse": entry([10.0, 30.0, 20.0], 20.0), "mse-no-decay": entry([79.0, 79.1, 79.2], 77.0),
    }  # fmt: skip
    write_ledger(tmp_path / "ablation-cora.json", entries)
    line = next(line for line in effects_table(tmp_path).splitlines() if "MSE | Cora" in line)
    cells = [text.strip() for text in line.split("|")]
    assert cells[3].startswith("+64.10") and cells[5].startswith("+5.00") and cells[8] == "confirmed"
    full = next(line for line in decay_table(tmp_path).splitlines() if "full method" in line)
    assert "**84.10" in full and "**85.10" not in full  # test scores play no part


def test_an_empty_ledger_gives_a_page_and_figures(tmp_path: Path) -> None:
    assert all(blocks(tmp_path).values())
    for text in figures(tmp_path).values():
        assert "not run yet" in text
        ElementTree.fromstring(text)


def test_reports_know_no_torch() -> None:
    code = "import sys, graphmae.reporting.results_page, graphmae.reporting.figures; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
