"""Training does not die of its log: progress that cannot be written is dropped, and results are kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphmae as gm
from graphmae.runtime.counting import counted

FULL = Path("/dev/full")
SRC = Path(__file__).parents[2] / "src"
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, which writes nothing")
SMALL = "--epochs 2 --set encoder.hidden_channels=8 --set data.num_nodes=100"
# What is typed after `graphmae pretrain`, and the shell's words about its streams.
CASES = {
    "full": "$PRETRAIN --out full 2>/dev/full && $GRAPHMAE anomalies full synthetic -o full.csv 2>/dev/full",
    "closed": "$PRETRAIN --out closed <&- >&- 2>&-",
    "reader gone": "$PRETRAIN --out reader-gone 2> >(true); code=$?; wait; exit $code",
    "both gone": "$PRETRAIN --out both-gone 2>&1 | true; exit ${PIPESTATUS[0]}",
    "output full": "$PRETRAIN --out output-full >/dev/full",
}
Ended = dict[str, tuple[int, str, str]]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Ended]]:
    """Every case in a shell of its own, all at the same time: (exit code, stdout, stderr)."""
    folder = tmp_path_factory.mktemp("log")
    path = os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])
    command = f"{sys.executable} -m graphmae"
    words = {"GRAPHMAE": command, "PRETRAIN": f"{command} pretrain synthetic {SMALL}", "OMP_NUM_THREADS": "1"}
    running = {
        name: subprocess.Popen(
            ["bash", "-c", text], cwd=folder, env={**os.environ, **words, "PYTHONPATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name, text in CASES.items()
    }  # fmt: skip
    done: Ended = {}
    for name, process in running.items():
        out, err = process.communicate(timeout=280)
        done[name] = process.returncode, out, err
    yield folder, done


@pytest.mark.parametrize("name", CASES)
def test_the_checkpoint_is_kept(ended: tuple[Path, Ended], name: str) -> None:
    """`graphmae pretrain … 2>/dev/full`, a daemon, or a reader that is gone: exit code 1 and no checkpoint."""
    folder = ended[0] / name.replace(" ", "-")
    assert gm.load(folder).trained_on["epochs"] == 2
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2]


@pytest.mark.parametrize("name", ["full", "closed", "reader gone"])
def test_a_log_that_cannot_be_written_is_no_failure(ended: tuple[Path, Ended], name: str) -> None:
    """A job of which only the log was lost was counted as failed."""
    code, out, err = ended[1][name]
    assert code == 0, err + out
    assert ("The checkpoint is in" in out) == (name != "closed")
    assert "Traceback" not in err


def test_scores_are_written_without_a_log(ended: tuple[Path, Ended]) -> None:
    """`graphmae anomalies … -o scores.csv` wrote the scores and then ended with exit code 1."""
    assert len((ended[0] / "full.csv").read_text().splitlines()) > 100


def test_an_output_that_cannot_be_written_is_named(ended: tuple[Path, Ended]) -> None:
    """The message "No space left on device" did not say where. What is printed is lost, so it stays an error."""
    code, _, err = ended[1]["output full"]
    assert code == 1 and "error: standard output: No space left on device" in err
    assert "Traceback" not in err and "Exception ignored" not in err


def test_a_reader_that_is_gone_is_an_error_in_silence(ended: tuple[Path, Ended]) -> None:
    """`graphmae … 2>&1 | true`: what was to be printed was not read, and nobody is there to be told."""
    code, out, err = ended[1]["both gone"]
    assert (code, out, err) == (1, "", "")


@pytest.mark.parametrize("stream", ["none", "full", "closed"])
def test_training_from_python_goes_on_without_a_log(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under pythonw and in daemons `sys.stderr` is None, and training ended with an AttributeError."""
    log = None if stream == "none" else FULL.open("w")
    if stream == "closed" and log is not None:
        log.close()
    monkeypatch.setattr(sys, "stderr", log)
    model = gm.pretrain("default", "synthetic", 2, overrides=["data.num_nodes=100", "encoder.hidden_channels=8"])
    assert model.trained_on["epochs"] == 2
    monkeypatch.setattr("graphmae.runtime.counting.PATIENCE", 0.005)
    monkeypatch.setattr("graphmae.runtime.counting.SECONDS", 0.0)
    seen = []
    for number in counted([1, 2, 3], "columns"):
        time.sleep(0.01)
        seen.append(number)
    assert seen == [1, 2, 3]
    monkeypatch.undo()
