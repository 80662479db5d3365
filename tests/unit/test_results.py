from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphmae.results import Result
from graphmae.runtime.errors import InputError

RUNS = [
    {
        "seed": seed,
        "seconds": 1.0,
        "rows": {
            "pretrained": {"last": 80.0 + seed, "best-validation": 79.0, "knn": 70.0},
            "raw": {"last": 50.0, "best-validation": 51.0},
        },
    }
    for seed in (0, 2)
]


def make() -> Result:
    return Result("node/x", "accuracy", "last", RUNS, published={"mean": 84.2, "std": 0.4}, seconds=2.0, peak_bytes=10)


def test_the_json_object() -> None:
    summary = make().summary()
    assert list(summary) == [
        "recipe", "metric", "rule", "mean", "std", "interval", "seeds", "scores", "baselines", "published", "seconds",
        "peak_bytes",
    ]  # fmt: skip
    assert (summary["mean"], summary["scores"], summary["seeds"]) == (81.0, [80.0, 82.0], [0, 2])
    assert summary["std"] == pytest.approx(2**0.5)  # divided by n - 1
    assert summary["interval"] == pytest.approx(12.706, abs=0.01)  # t(0.975, 1 degree of freedom) times 1
    assert summary["baselines"] == {"raw": {"mean": 50.0, "std": 0.0, "interval": 0.0, "scores": [50.0, 50.0]}}


def test_round_trip_and_atomic_write(tmp_path: Path) -> None:
    make().save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json") == make()
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_the_table_has_the_baselines_first() -> None:
    header, lines = make().table()
    assert [line[0] for line in lines] == ["raw features", "GraphMAE", "GraphMAE, published"]
    assert lines[1][1:4] == ["81.0 ± 1.4", "79.0 ± 0.0", "70.0 ± 0.0"]
    assert lines[0][3] == "–"
    assert len(header) == len(lines[0]) == len(lines[2])


def test_results_written_before_there_were_commits_load(tmp_path: Path) -> None:
    make().save(tmp_path / "result.json")
    stored = (tmp_path / "result.json").read_text()
    (tmp_path / "old.json").write_text(stored.replace('"commit": "",', ""))
    assert Result.load(tmp_path / "old.json") == make()


def test_what_is_not_a_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match="not a result"):
        Result.load(tmp_path / "a.json")


def test_results_know_no_torch() -> None:
    code = "import sys, graphmae.results; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
