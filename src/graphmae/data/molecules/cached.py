"""Molecules parsed once and kept in the cache, and a file of your own as a data set."""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...runtime.errors import DataError
from ...runtime.files import waiting_for
from ..dataset import REGISTRY
from ..sources import cache_root, sha256
from .building import build_store, is_complete
from .integrity import DamagedStore
from .store import MoleculeStore

WAITING = "%s: another process parses these molecules; waiting for it"
logger = logging.getLogger("graphmae")


def stored(files: Sequence[Path], name: str, column: str | None = None, standardize: bool = False) -> MoleculeStore:
    """The store of some files, from the cache where files with the same bytes were parsed before.

    With `standardize` of the molecules as `standardized` writes them: without salts, neutral where they can be.
    """
    for file in files:
        if not file.is_file():
            raise DataError(f"there is no file {file}")
    content = ";".join([*(sha256(file) for file in files), column or "", *["standardized"] * standardize])
    store = _cached(
        name,
        content,
        lambda folder, progress: build_store(files, folder, column, name, progress=progress, standardize=standardize),
    )
    if store.meta["bad"]:
        logger.warning(
            "%s: %d of %d strings are not molecules, the first %s; %s lists them",
            name, store.meta["bad"], store.num_lines, _first_bad(store.folder), store.folder / "bad.tsv",
        )  # fmt: skip
    return store


def _first_bad(folder: Path) -> str:
    with (folder / "bad.tsv").open() as lines:
        next(lines)
        _, number, text = next(lines).rstrip("\n").split("\t", 2)
    return f"in line {number}, {text[:40]!r}" if text.strip() else f"in line {number}, which has none"


def stored_texts(texts: Sequence[str], name: str, standardize: bool = False) -> MoleculeStore:
    """The store of some SMILES strings; those that are not molecules are not in it (`store.lines` says which are)."""
    content = "\n".join(["strings", *texts, *["standardized"] * standardize])
    return _cached(
        name,
        content,
        lambda folder, progress: build_store(
            (), folder, None, name, progress=progress, standardize=standardize, texts=texts
        ),
    )


def _cached(
    name: str, content: str, build: Callable[[Path, Callable[[int, int], None]], MoleculeStore]
) -> MoleculeStore:
    folder = cache_root() / "molecules" / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    began = shown = time.monotonic()

    def progress(done: int, bad: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= 5:
            shown = now
            logger.info("%s: %d strings parsed, %d of them bad, %.0f a second", name, done, bad, done / (now - began))

    def built() -> MoleculeStore:
        try:
            return build(folder, progress)
        except DamagedStore:
            logger.warning("%s: what the cache held was damaged; the molecules are parsed again", name)
            shutil.rmtree(folder)
            return build(folder, progress)

    if is_complete(folder):
        with suppress(DamagedStore):
            return build(folder, progress)
    # Two processes that need the same molecules, as seeds of a run do: one parses, the others wait.
    with waiting_for(folder.with_name(f"{folder.name}.lock"), lambda: logger.info(WAITING, name)):
        return built()


@REGISTRY.register("smiles")
def smiles(
    root: str | Path | None = None, path: str = "", column: str = "", standardize: bool = False
) -> MoleculeStore:
    """Your own molecules from `data.path`: a .smi file, one SMILES per line, or a table with a `data.column`.

    `standardize` removes salts and neutralises what can be neutral.
    """
    if not path:
        raise DataError("data.name is 'smiles', but data.path does not say which file")
    file = Path(path).expanduser()
    store = stored([file], file.name.split(".")[0], column or None, standardize)
    return replace(store, sources=(file,), column=column or None)
