"""A full disk, a limit on files, a read-only folder: one sentence, the last state intact, and on from there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reliability.harness import Server, Undisturbed, contents, differences

ENOUGH = "64m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A small file system of its own: called with mount options, the second time they are changed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        if shutil.which("mount") is None:
            pytest.skip("there is no mount here")
        options = f"remount,{options}" if mounted else options
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
        if done.returncode:
            pytest.skip("a file system cannot be mounted here")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def check_full(server: Server, undisturbed: Undisturbed, disk: Callable[[str], Path], size: str) -> None:
    work, _, expected = undisturbed
    out = disk(f"size={size}") / "run"
    code, said = server.run(work, out), server.log.read_text()
    assert code == 1, said
    assert "cannot be written: no space left on device" in said and "Traceback" not in said
    assert len([line for line in said.splitlines() if line.startswith("error:")]) == 1
    assert not [file for file in out.rglob("*") if "partial" in file.name]
    disk(f"size={ENOUGH}")
    server.finish(work, out)
    assert not differences(expected, contents(out))


@pytest.mark.parametrize("size", ["8k", "48k"])
def test_a_full_disk(
    server: Server, undisturbed: Callable[[str], Undisturbed], disk: Callable[[str], Path], size: str
) -> None:
    check_full(server, undisturbed("graph"), disk, size)


@pytest.mark.long
@pytest.mark.parametrize("pages", range(1, 21))
def test_a_full_disk_at_twenty_sizes(
    server: Server, undisturbed: Callable[[str], Undisturbed], disk: Callable[[str], Path], pages: int
) -> None:
    check_full(server, undisturbed("graph"), disk, f"{4 * pages}k")


def test_a_limit_on_the_size_of_files(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, _, expected = undisturbed("graph")
    assert server.run(work, tmp_path / "run", file_size=20_000) == 1, server.log.read_text()
    said = server.log.read_text()
    assert "state.safetensors cannot be written: file too large (about " in said and "Traceback" not in said
    server.finish(work, tmp_path / "run")
    assert not differences(expected, contents(tmp_path / "run"))


def test_a_read_only_folder(
    server: Server, undisturbed: Callable[[str], Undisturbed], disk: Callable[[str], Path]
) -> None:
    work, operations, expected = undisturbed("graph")
    out = disk(f"size={ENOUGH}") / "run"
    server.run(work, out, kill_at=len(operations) // 2)
    disk("ro")
    for folder in (out, out.parent / "other"):
        assert server.run(work, folder, resume=True) == 1
        said = server.log.read_text()
        assert "cannot be written: read-only file system; choose a folder" in said and "Traceback" not in said
    disk("rw")
    server.finish(work, out)
    assert not differences(expected, contents(out))
