"""One run, one owner: of ten processes that want a folder one trains, and the others are told which."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reliability.harness import Server, Undisturbed, contents, differences, lives

LONG = ["--epochs", "1000000"]


def test_ten_processes_want_one_folder(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, *_ = undisturbed("graph")
    work = replace(work, argv=[*work.argv, *LONG], env={"GRAPHMAE_SAVE_SECONDS": "3600"})
    logs = {}
    for _ in range(10):
        pid = server.start(work, tmp_path / "run", resume=True)
        logs[pid] = server.log
    deadline = time.monotonic() + 60
    while len(left := [pid for pid in logs if lives(pid)]) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    [owner] = left
    for pid in logs:
        if pid != owner:
            assert server.wait(pid) == 2, logs[pid].read_text()
            assert f"process {owner} on " in logs[pid].read_text()
    os.kill(owner, signal.SIGTERM)
    assert server.wait(owner) == 143, logs[owner].read_text()
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == [f'{{"epoch": {1 + i}' for i in range(len(lines))]


def test_the_lock_of_a_killed_process_holds_nobody_up(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, operations, expected = undisturbed("graph")
    server.run(work, tmp_path / "run", kill_at=len(operations) // 2)
    assert (tmp_path / "run/.lock").read_text().startswith("process ")
    server.finish(work, tmp_path / "run")
    assert not differences(expected, contents(tmp_path / "run"))
    assert (tmp_path / "run/.lock").read_text() == ""
