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


# Each of six tasks is saved where it is asked to stop; a process of the program's own is none of the workers.
SAVING = """
import multiprocessing, os, signal, sys, time
from pathlib import Path
from graphmae.runtime.errors import Interrupted, StopRequest
from graphmae.runtime.processes import in_processes
from graphmae.runtime.signals import postponed, raise_stop_requests

def prepare():
    pass

def work(number):
    Path(sys.argv[1], f"works-{number}").touch()
    with postponed() as stopping:
        while not stopping():
            time.sleep(0.02)
    time.sleep(0.3)
    Path(sys.argv[1], f"saved-{number}").touch()
    if number % 2:  # one that was finished when it looked
        raise Interrupted("saved", stopping())

if __name__ == "__main__":
    raise_stop_requests()
    own = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    own.start()
    try:
        list(in_processes(work, range(6), 2, prepare))
    except StopRequest as request:
        Path(sys.argv[1], f"own-{own.exitcode}").touch()
        own.kill()
        sys.exit(128 + request.signal)
"""


def test_after_a_stop_what_is_under_way_is_saved_and_nothing_else_is_begun(tmp_path: Path) -> None:
    program, notes = tmp_path / "program.py", tmp_path / "notes"
    program.write_text(SAVING)
    notes.mkdir()
    command = [sys.executable, str(program), str(notes)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            wait_for(notes, "works-*", 2)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=30)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # tasks wait for a signal
            raise
    assert process.returncode == 128 + signal.SIGTERM and said == "", said
    assert {file.name for file in notes.glob("[ws]*")} == {"works-0", "works-1", "saved-0", "saved-1"}
    assert (notes / "own-None").exists(), "a process of the caller's was ended"


def test_processes_that_wait_for_work_end_with_their_parent(tmp_path: Path) -> None:
    """Killed for want of memory, say: nobody is left to tell them."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom graphmae.runtime.processes import pool_of, submit\n"
        "def prepare(): pass\n"
        "def note(folder): Path(folder, f'{os.getpid()}').touch()\n"
        "if __name__ == '__main__':\n"
        "    pool = pool_of(1, prepare)\n"
        "    submit(pool, note, sys.argv[1]).result()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    (notes := tmp_path / "notes").mkdir()
    subprocess.run([sys.executable, str(program), str(notes)], check=False, timeout=60)
    worker, deadline = int(next(notes.iterdir()).name), time.monotonic() + 10
    while _lives(worker):
        assert time.monotonic() < deadline, "a worker is left"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """A process whose parent has not yet taken its end into account is dead, too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


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
