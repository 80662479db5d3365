"""Facts about the machine, also where the system is not Linux."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphmae
from graphmae.runtime import environment
from graphmae.runtime.files import flush

SOURCE = Path(graphmae.__file__).parent
UNIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def test_modules_of_unix_are_imported_only_where_their_absence_is_handled() -> None:
    """Windows has none of them: at the top of a module they may stand in a `try` alone."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not UNIX_ONLY & set(names), path


def test_without_the_resource_module_facts_are_unknown_and_nothing_fails() -> None:
    code = (
        "import sys; sys.modules['resource'] = None\n"
        "from graphmae.runtime import environment as e\n"
        "assert e._left_of_limit() is None and e.free_bytes() >= 0 and e.peak_bytes() >= 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_version_is_that_of_the_package() -> None:
    assert environment.versions()["graphmae"] == graphmae.__version__ == environment.package_version()


def test_windows_flushes_a_file_that_is_open_for_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, modes, real = tmp_path / "a", [], os.open
    path.write_text("a")
    monkeypatch.setattr(os, "open", lambda path, flags: (modes.append(flags), real(path, flags))[1])
    flush(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        flush(path)
    assert modes == [os.O_RDONLY, os.O_RDWR]
