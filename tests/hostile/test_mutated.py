"""Damaged files of every kind the program reads end in one sentence, or are read; they never do harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


def opened(folder: Path, first: int, count: int) -> list[dict[str, Any]]:
    """The outcome of every case; where the process died, the case it died of is among them."""
    outcomes: dict[int, dict[str, Any]] = {}
    command = [sys.executable, "-m", "hostile.worker"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    while (start := max(outcomes, default=first - 1) + 1) < first + count:
        work = folder / f"from {start}"
        work.mkdir(parents=True)
        arguments = [str(work), str(start), str(first + count - start)]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment, timeout=7200)
        for line in done.stdout.splitlines():
            if line.startswith('{"case"'):
                outcome = json.loads(line)
                outcomes[outcome["case"]] = outcome
        assert outcomes, done.stderr[-3000:]
        last = outcomes[max(outcomes)]
        if last["outcome"] == "begun":
            last |= {"outcome": "failed", "detail": f"the process ended with {done.returncode}: {done.stderr[-500:]}"}
    return [outcomes[number] for number in sorted(outcomes)]


def check(outcomes: list[dict[str, Any]]) -> None:
    failed = [case for case in outcomes if case["outcome"] == "failed"]
    assert not failed, f"{len(failed)} of {len(outcomes)}: {json.dumps(failed[0], indent=1)}"
    changed = [case for case in outcomes if not case["matters"] and case["outcome"] != "same"]
    assert not changed, f"a change that cannot matter did: {changed[0]}"


def test_a_few_damaged_files(tmp_path: Path) -> None:
    outcomes = opened(tmp_path, 0, 93)
    assert len(outcomes) == 93
    check(outcomes)
    assert len({case["kind"] for case in outcomes}) == 31


@pytest.mark.long
def test_thousands_of_damaged_files(tmp_path: Path) -> None:
    """The figures of docs/security.md; printed, and the whole list is in GRAPHMAE_HOSTILE where that is set."""
    outcomes = opened(tmp_path, 1000, 3600)
    counts = Counter(case["outcome"] for case in outcomes)
    harmless = Counter(case["outcome"] for case in outcomes if not case["matters"])
    print(f"{len(outcomes)} files: {dict(counts)}; of changes that cannot matter: {dict(harmless)}")
    print(f"the slowest took {max(case['seconds'] for case in outcomes)} s")
    if path := os.environ.get("GRAPHMAE_HOSTILE"):
        Path(path).write_text("".join(json.dumps(case) + "\n" for case in outcomes))
    check(outcomes)
