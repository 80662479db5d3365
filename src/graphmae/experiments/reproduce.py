"""Everything a table of the paper needs, run where it is not done yet: experiments → ledger → tables."""

from __future__ import annotations

import logging
import multiprocessing
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .. import config, methods
from .. import data as datasets
from ..reporting import TABLES, Comparison, Entry, Experiment, entry_of, experiments_of, read_ledger, write_ledger
from ..runtime.errors import DataError, GraphMAEError, InputError, Interrupted, StopRequest, WriteError
from ..runtime.files import as_path, check_folder, locked, write_text
from ..runtime.processes import in_processes
from ..training import quiet
from ..training.progress import Display
from . import run as experiment
from .folder import RunFolder
from .pretrain import pretrain_once

logger = logging.getLogger("graphmae")


def reproduce(
    table: str,
    out: str | Path,
    device: str = "auto",
    *,
    only: Iterable[str] = (),
    seeds: int | None = None,
    root: str | Path | None = None,
    jobs: int = 1,
    display: Display = quiet,
) -> list[Experiment]:
    """Run the experiments of a table that are not finished in `out`, and keep their scores in out/results/*.json.

    `only` keeps experiments whose "group/name" contains one of these texts; `seeds` runs fewer (or more) than the
    paper. With several devices ("cuda:0,cuda:1"; "auto" is all of them), each has a process of its own and takes the
    next experiment.
    """
    texts = list(only)
    wanted = [e for e in experiments_of(table) if not texts or any(text in f"{e.group}/{e.name}" for text in texts)]
    if not wanted:
        raise InputError(f"nothing in the table {table!r} matches {', '.join(texts)}")
    wanted = wanted if seeds is None else [replace(e, seeds=seeds) for e in wanted]
    out, devices = as_path(out, "out"), _devices(device)
    check_folder(out, "a reproduction", any((out / name).is_dir() for name in ("results", "pretrained", *TABLES)))
    with locked(out), _resumable(out):
        work = [(e, out, root, jobs) for e in wanted if not _is_done(e, out)]
        logger.info("%s: %d experiments, %d of them done", table, len(wanted), len(wanted) - len(work))
        for start in dict.fromkeys(e.pretrain for e, *_ in work if e.pretrain):
            _pretrain(start, out, root, devices[0], display)
        if len(devices) > 1 and len(work) > 1:
            context = multiprocessing.get_context("spawn")
            free: Any = context.Queue()
            for device in devices:
                free.put(device)
            for e, entry in in_processes(
                _on_own_device, work, len(devices), _take_device, (free,),
                again="the same command goes on with what is left",
            ):  # fmt: skip
                _keep(e, entry, out)
        else:
            for task in work:
                _keep(task[0], _run(*task, device=devices[0], display=display), out)
    return wanted


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    try:
        yield
    except StopRequest as request:
        raise Interrupted(f"stopped; the same command goes on in {out}", request.signal) from None


def _start(pretrain: Sequence[str], out: Path) -> RunFolder:
    """Where the model an experiment starts from is kept."""
    name = "-".join(text.replace("/", "-").replace("=", "-") for text in pretrain)
    return RunFolder(out / "pretrained" / name)


def _pretrain(start: Sequence[str], out: Path, root: str | Path | None, device: str, display: Display) -> None:
    """What several experiments start from; where that fails, each says in its own entry that there is none."""
    folder = _start(start, out)
    if folder.holds_model:
        return
    recipe = config.load(start[0], start[1:])
    label, resume = f"pretrain {' '.join(start)}", folder.holds_run
    try:
        dataset = datasets.load(recipe.data.name, root, **recipe.data.options)
        pretrain_once(
            recipe, dataset, 0, torch.device(device), folder=folder, resume=resume, display=display, label=label
        )
    except (Interrupted, WriteError):
        raise
    except GraphMAEError as error:
        logger.warning("%s: %s", " ".join(start), error)


def _is_done(e: Experiment, out: Path) -> bool:
    entry = read_ledger(out / "results" / e.file).get(e.name)
    return (
        entry is not None and entry.recipe == e.recipe and entry.changes == e.settings and len(entry.seeds) >= e.seeds
    )


def _keep(e: Experiment, entry: Entry, out: Path) -> None:
    path = out / "results" / e.file
    known = read_ledger(path)
    if entry.unavailable and e.name in known and known[e.name].rows:
        return  # fewer seeds are better than none
    write_ledger(path, {**known, e.name: entry})


def _run(e: Experiment, out: Path, root: str | Path | None, jobs: int, device: str, display: Display = quiet) -> Entry:
    """One experiment; data that cannot be had, or a run that fails, is an entry that says so."""
    folder, began = RunFolder(out / e.table / e.group / e.name), time.monotonic()
    try:
        start = _start(e.pretrain, out)
        if e.pretrain and not start.holds_model:
            raise DataError(f"no pre-trained model of {e.pretrain[0]}")
        begin = [f"finetune.checkpoint={start.path}"] if e.pretrain else []
        recipe = config.load(e.recipe, [*e.changes, *begin])
        methods.check(recipe)
        resume = folder.holds_run
        result = experiment.run(
            recipe, range(e.seeds), folder.path, root=root, device=device, resume=resume, jobs=jobs, display=display
        )
    except (Interrupted, WriteError):
        raise
    except DataError as error:
        logger.warning("%s/%s: no data (%s)", e.group, e.name, error)
        short = textwrap.shorten(str(error).split(" (and ")[0], 100, placeholder=" …")
        return Entry(e.recipe, e.settings, unavailable=f"data not at hand: {short}")
    except GraphMAEError as error:
        logger.warning("%s/%s failed: %s", e.group, e.name, error)
        return Entry(e.recipe, e.settings, unavailable=f"failed: {error}")
    logger.info("%s/%s: %.2f ± %.2f, %.0f s", e.group, e.name, result.mean, result.std, time.monotonic() - began)
    return entry_of(e, result, time.monotonic() - began)


def written_tables(wanted: Sequence[Experiment], out: Path) -> dict[str, Comparison]:
    """One comparison per table, of everything in `out` that belongs to it; also written to out/TABLE.md."""
    tables = {}
    for table in dict.fromkeys(e.table for e in wanted):
        rows = Comparison.of([e for e in wanted if e.table == table], out / "results")
        write_text(out / f"{table}.md", rows.text())
        tables[table] = rows
    return tables


_device = ""


def _take_device(free: Any) -> None:
    global _device
    _device = free.get()


def _on_own_device(task: tuple[Experiment, Path, str | Path | None, int]) -> tuple[Experiment, Entry]:
    return task[0], _run(*task, device=_device)


def _devices(name: str) -> list[str]:
    """The devices a name stands for: "auto" is every CUDA device there is, or the CPU."""
    if name == "auto" and torch.cuda.is_available():
        return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return [part.strip() for part in name.split(",")]
