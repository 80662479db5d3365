"""Killed at any moment and resumed, a run gives the same bytes as one that was left alone, and leaves nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from reliability.harness import Server, Undisturbed, contents, differences

KINDS = ("node", "graph", "folds", "molecule", "finetune")
KILLED = -9


@pytest.mark.parametrize(
    ("kind", "at", "again"),
    [("node", 0.0, 0.01), ("node", 0.3, 0.2), ("node", 0.93, 0.0), ("molecule", 0.5, 0.9), ("finetune", 0.7, 0.4)],
)
def test_killed_before_an_operation_on_a_file_and_again_while_resuming(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path, kind: str, at: float, again: float
) -> None:
    work, operations, expected = undisturbed(kind)
    number = 1 + int(at * len(operations))
    assert server.run(work, tmp_path / "run", kill_at=number) == KILLED
    if again:
        server.run(work, tmp_path / "run", kill_at=1 + int(again * len(operations)), resume=True)
    server.finish(work, tmp_path / "run")
    assert not differences(expected, contents(tmp_path / "run")), f"killed before {operations[number - 1]}"


def test_early_stopping_is_remembered(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    """Killed while the evaluation after an early stop runs, and its metrics cut off in the middle of a line."""
    work, operations, expected = undisturbed("node")
    stopped = [line for line in expected["seed-0/metrics.jsonl"] if line.get("stop")]
    assert [line["epoch"] for line in stopped] == [10]
    scored = next(i for i, name in enumerate(operations) if name.startswith("open .scores.json"))
    assert server.run(work, tmp_path / "run", kill_at=scored) == KILLED
    metrics = tmp_path / "run/seed-0/metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"epoch": 11, "lo')
    server.finish(work, tmp_path / "run")
    assert not differences(expected, contents(tmp_path / "run"))


def test_a_kill_during_the_first_write_leaves_a_folder_to_begin_in(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, operations, expected = undisturbed("molecule")
    renamed = next(i for i, name in enumerate(operations) if name.startswith("os.rename .recipe.json"))
    assert server.run(work, tmp_path / "run", kill_at=renamed + 1) == KILLED
    assert any("partial" in file.name for file in (tmp_path / "run").iterdir())
    assert server.run(work, tmp_path / "run", resume=False) == 0, server.log.read_text()
    assert not differences(expected, contents(tmp_path / "run"))


def test_seeds_that_are_done_are_not_run_again(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, operations, expected = undisturbed("node")
    done = next(i for i, name in enumerate(operations) if name.startswith("os.rename .scores.json")) + 3
    assert server.run(work, tmp_path / "run", kill_at=done) == KILLED
    scores = tmp_path / "run/seed-0/scores.json"
    value = json.loads(scores.read_text())
    scores.write_text(json.dumps({**value, "loss": 12345.0}))
    server.finish(work, tmp_path / "run")
    assert json.loads(scores.read_text())["loss"] == 12345.0
    found = contents(tmp_path / "run")
    assert differences(expected, found) == ["result.json", "seed-0/scores.json"]


@pytest.mark.long
@pytest.mark.parametrize("number", range(100))
def test_a_hundred_kills(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path, number: int
) -> None:
    """Half at random moments, half before operations on files from the first to the last; every second one twice."""
    draw, out = random.Random(number), tmp_path / "run"
    work, operations, expected = undisturbed(KINDS[number % len(KINDS)])
    if number % 10 < 5:
        at = 1 + (number // 5) * len(operations) // 20
        assert server.run(work, out, kill_at=at) == KILLED
        happened = f"before {operations[at - 1]}"
    else:
        after = draw.uniform(0.01, 1.5)
        server.run(work, out, kill_after=after)
        happened = f"after {after:.3f} s"
    for _ in range(draw.choice([0, 1, 2])):
        server.run(work, out, resume=True, kill_at=draw.randrange(1, len(operations)))
        happened += " and again"
    server.finish(work, out)
    assert not differences(expected, contents(out)), happened
