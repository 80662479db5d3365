"""A file is the old one or the new one, never half of one; a folder has one owner."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import SafetensorError

from graphmae.runtime.errors import InputError, WriteError
from graphmae.runtime.files import LOCK, is_empty, locked, remove_partial_files, replacing, write_json
from graphmae.runtime.untrusted import read_object


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("{")
        raise RuntimeError
    assert read_object(path) == {"a": 1} and [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    code = (
        "import sys, time\nfrom graphmae.runtime.files import replacing\n"
        "with replacing(sys.argv[1]) as partial:\n"
        "    partial.write_text('{')\n    print('writing', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
    assert read_object(path) == {"a": 1} and len(list(tmp_path.iterdir())) == 2
    remove_partial_files(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_what_was_written_is_flushed_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    real_sync, real_replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("flush"), real_sync(handle))[1])
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("rename"), real_replace(self, to))[1])
    write_json(tmp_path / "a.json", {})
    assert order[:2] == ["flush", "rename"]


def test_a_folder_has_one_owner_and_a_killed_one_owns_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom graphmae.runtime.files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('mine', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "mine\n"
        with pytest.raises(InputError, match=f"process {process.pid} on .+ is working in"), locked(folder):
            raise AssertionError("two owners")
        process.kill()
    time.sleep(0.1)
    with locked(folder):
        assert (folder / LOCK).exists()
    assert is_empty(folder)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, r"a.json cannot be written: no space left on device \(about 2.0 MiB are needed\); make room"),
        (errno.EROFS, "cannot be written: read-only file system; choose a folder that can be written"),
        (errno.EACCES, "cannot be written: permission denied; choose a folder"),
        (errno.EIO, "cannot be written: input/output error; the disk reports a failure"),
    ],
)
def test_a_write_that_fails_says_why_and_keeps_what_was_there(tmp_path: Path, code: int, message: str) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(WriteError, match=message) as caught, replacing(path, 2 << 20) as partial:
        partial.write_text("{")
        raise OSError(code, os.strerror(code))
    assert caught.value.exit_code == 1 and isinstance(caught.value, OSError)
    assert read_object(path) == {"a": 1} and [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_an_error_of_safetensors_is_one_of_writing_if_the_system_failed(tmp_path: Path) -> None:
    text = 'Error while serializing: I/O error: Os { code: 28, kind: StorageFull, message: "No space left on device" }'
    with pytest.raises(WriteError, match="no space left"), replacing(tmp_path / "a"):
        raise SafetensorError(text)
    with pytest.raises(SafetensorError), replacing(tmp_path / "a"):
        raise SafetensorError("invalid header")
