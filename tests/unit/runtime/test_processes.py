"""Workers and Ctrl-C: how a seed in a worker is saved is in tests/reliability/test_signals.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if not hasattr(os, "killpg"):
    pytest.skip("groups of processes are of POSIX systems", allow_module_level=True)

# What a worker imports takes it a second, with a line before and a line after it.
PROGRAM = """
import sys, time
from pathlib import Path
from graphmae.runtime.errors import StopRequest
from graphmae.runtime.processes import in_processes
from graphmae.runtime.signals import raise_stop_requests

def note(what):
    Path(sys.argv[1], what + str(__import__("os").getpid())).touch()

note("imports-")
time.sleep(1 if __name__ != "__main__" else 0)

def prepare():
    note("ready-")

def work(seconds):
    note("works-")
    time.sleep(seconds)

if __name__ == "__main__":
    raise_stop_requests()
    try:
        list(in_processes(work, [60, 60], 2, prepare, saves=sys.argv[2] == "saves"))
    except StopRequest as request:
        sys.exit(128 + request.signal)
"""


def wait_for(folder: Path, pattern: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < deadline, f"{pattern} did not appear"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["imports", "works"])
@pytest.mark.parametrize("saves", ["saves", "does not"])
def test_a_signal_to_the_group_ends_all_workers_without_a_word(
    tmp_path: Path, number: signal.Signals, when: str, saves: str
) -> None:
    """While they import, too, when nothing of ours decides yet what a signal means in them."""
    program, notes = tmp_path / "program.py", tmp_path / "notes"
    program.write_text(PROGRAM)
    notes.mkdir()
    command = [sys.executable, str(program), str(notes), saves]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait_for(notes, f"{when}-*", 3 if when == "imports" else 2)
        os.killpg(process.pid, number)
        began = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    assert said == "" and time.monotonic() - began < 10
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True).returncode == 0:
        assert time.monotonic() - began < 10, "a worker is left"
        time.sleep(0.05)
