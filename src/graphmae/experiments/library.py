"""Predictions for a library of any size: some thousand molecules at a time, on all cores, written part by part.

OUT.parts/          beside the file that is asked for, until that is complete
  made_of.json      which molecules, model and order; parts of anything else are not gone on with
  000000.csv        the rows of a part, in their order or, where they are ranked, sorted
  000000.npy        what was predicted of all its molecules, and which of them are among those rows
"""

from __future__ import annotations

import logging
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import pretrained
from ..finetuning import Committee
from ..runtime.compiled import limit_threads, one_thread
from ..runtime.environment import cpu_count
from ..runtime.errors import InputError, Interrupted, StopRequest
from ..runtime.files import replacing, write_json
from ..runtime.lines import line_writer
from ..runtime.processes import killed, pool_of, submit
from ..runtime.untrusted import read_object
from .columns import Columns, replaced
from .ranking import Order, Sorted, merged

PART = 2048  # molecules that are predicted together
FEW = 3 * PART  # molecules that need no other process
NOT_A_MOLECULE = "not a molecule"
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Part:
    """Rows of the library, one after another: their cells, and their SMILES."""

    number: int
    cells: list[list[str]]
    texts: list[str]


@dataclass(frozen=True)
class _Job:
    """What every process needs to know."""

    columns: Columns
    order: Order | None
    folder: Path
    delimiter: str
    in_domain: bool = False

    def path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.csv"

    def keys(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npy"


def predict_library(
    model: Committee | str | Path,
    header: Sequence[str],
    rows: Iterable[tuple[list[str], str]],
    out: Path,
    made_of: dict[str, Any],
    *,
    order: Order | None = None,
    in_domain: bool = False,
    device: torch.device,
    jobs: int | None = None,
) -> np.ndarray:
    """Predict every row, (cells, SMILES), and write them to `out` (.csv, .tsv); returns [rows, T] in the rows' order.

    `model` is the folder of a run, so that every process can load it, or a committee, which stays in this one. A call
    that was interrupted goes on with the parts it left, if `made_of` is the same. With an `order` the rows are sorted
    part by part and then merged. Memory does not grow with the library but for four bytes per prediction, and some
    twenty per molecule where they are sorted. With `in_domain` molecules unlike all the predictor was trained on are
    left out of the table.
    """
    committee = model if isinstance(model, Committee) else pretrained.load_committee(model)
    if old := replaced(header, committee.names):
        logger.warning(
            "predict: the table has predictions of %s already; columns %r to %r are replaced",
            ", ".join(committee.names), old[0], old[-1],
        )  # fmt: skip
        kept = [place for place, name in enumerate(header) if name not in old]
        rows = (([cells[place] for place in kept], text) for cells, text in rows)
        header = [header[place] for place in kept]
    columns = Columns.beside(header, committee.names, committee.kind, committee.automatic is not None)
    if in_domain and not columns.knows_training:
        raise InputError(
            "this model does not know what it was trained on, so no molecule can be left out for being unlike"
        )
    folder = _claim(out, {**made_of, "part": PART, "in_domain": in_domain})
    job = _Job(columns, order, folder, "\t" if out.suffix == ".tsv" else ",", in_domain)
    began = shown = time.monotonic()
    found, total = [], 0
    source = model if isinstance(model, str | Path) and device.type == "cpu" else None
    try:
        for part in _parts(job, committee, source, _cut(rows), device, jobs or cpu_count()):
            found.append(part)
            total, now = total + len(part.values), time.monotonic()
            if now - shown >= 5:
                shown = now
                logger.info("predict: %d molecules, %.0f a second", total, total / (now - began))
    except StopRequest as request:
        raise Interrupted(
            "stopped; the same command goes on with the molecules that are left", request.signal
        ) from None
    if not total:
        shutil.rmtree(job.folder)
        raise InputError("there are no molecules to predict for")
    with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        file.write(line_writer(job.delimiter)([*header, *columns.header]))
        inside = outside = 0
        for line in _lines(job, found):
            file.write(line)
            ends = line.rsplit(job.delimiter, 2)  # with domain and problem; not where a cell goes on in the next line
            domain = ends[1] if len(ends) == 3 else ""
            inside, outside = inside + (domain == "in"), outside + (domain == "out")
    if in_domain:
        logger.info(
            "predict: %d of %d molecules are in the predictor's domain",
            sum(int(part.listed.sum()) for part in found),
            total,
        )
    elif outside and columns.knows_training:
        logger.warning(
            "predict: %d of the %d molecules in the table are unlike all the predictor was trained on (domain: out): "
            "what is predicted of them promises nothing", outside, inside + outside,
        )  # fmt: skip
    shutil.rmtree(job.folder)
    return np.concatenate([part.values for part in found])


def _claim(out: Path, made_of: dict[str, Any]) -> Path:
    """The folder of the parts; what another call left there is removed, what this one left is kept."""
    folder = out.with_name(f"{out.name}.parts")
    note = folder / "made_of.json"
    if note.is_file() and read_object(note) == made_of:
        done = len(list(folder.glob("*.npy")))
        logger.info("predict: going on with %d parts of %d molecules that are there", done, PART)
        return folder
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    write_json(note, made_of)
    return folder


def _cut(rows: Iterable[tuple[list[str], str]]) -> Iterator[Part]:
    source, number = iter(rows), 0
    while some := list(islice(source, PART)):
        yield Part(number, [cells for cells, _ in some], [text for _, text in some])
        number += 1


@dataclass(frozen=True)
class _Found:
    """Of a part: what is predicted [rows, T], NaN for what is not a molecule, and which rows are in the table."""

    values: np.ndarray
    listed: np.ndarray


def _parts(
    job: _Job, committee: Committee, source: str | Path | None, parts: Iterator[Part], device: torch.device, jobs: int
) -> Iterator[_Found]:
    """What is found of every part in order; a few are under way at a time, one of them in this process."""
    first = list(islice(parts, -(-FEW // PART)))
    if source is None or jobs < 2 or sum(len(part.texts) for part in first) < FEW:
        for part in [*first, *parts]:
            yield _finished(job, part) if job.keys(part.number).is_file() else _predict(job, committee, part, device)
        return
    waiting: deque[Future[_Found] | _Found] = deque()
    pool = pool_of(jobs - 1, _prepare, (job, str(source)))
    try:
        with one_thread():
            for part in chain(first, parts):
                if job.keys(part.number).is_file():
                    waiting.append(_finished(job, part))
                elif sum(not _is_done(one) for one in waiting) < 2 * (jobs - 1):
                    waiting.append(submit(pool, _in_process, part))
                else:  # the others have enough to do
                    waiting.append(_predict(job, committee, part, device))
                while waiting and _is_done(waiting[0]):
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
    except BrokenProcessPool:
        raise killed("the same command goes on with the molecules that are left") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _is_done(found: Future[_Found] | _Found) -> bool:
    return isinstance(found, _Found) or found.done()


def _result(found: Future[_Found] | _Found) -> _Found:
    return found if isinstance(found, _Found) else found.result()


def _finished(job: _Job, part: Part) -> _Found:
    kept = np.load(job.keys(part.number))
    return _Found(kept[:, :-1], kept[:, -1] > 0)


_own: tuple[_Job, Committee] | None = None  # of a process that predicts parts


def _prepare(job: _Job, model: str) -> None:
    global _own
    limit_threads(1)  # one process per core
    _own = job, pretrained.load_committee(model)


def _in_process(part: Part) -> _Found:
    assert _own is not None
    job, committee = _own
    return _predict(job, committee, part, torch.device("cpu"))


def _predict(job: _Job, committee: Committee, part: Part, device: torch.device) -> _Found:
    """Predict a part and write it; the values are written last, so a part that has them is complete."""
    molecules = committee.featurize(part.texts)
    answers = committee.answer(molecules, device)
    found = _Found(
        np.full((len(part.texts), len(committee.names)), np.nan, np.float32),
        np.full(len(part.texts), not job.in_domain),
    )
    found.values[molecules.rows] = answers.values
    if job.in_domain and answers.near is not None:
        found.listed[molecules.rows] = answers.near.inside
    cells = [[*[""] * (len(job.columns.header) - 1), NOT_A_MOLECULE] for _ in part.texts]
    for row, made in zip(molecules.rows.tolist(), job.columns.rows(committee, answers, molecules.smiles), strict=True):
        cells[row] = made
    rows = np.flatnonzero(found.listed)
    if job.order is not None:
        rows = rows[job.order.of(found.values[rows])[1]]
    with replacing(job.path(part.number)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        line = line_writer(job.delimiter)
        file.writelines(line([*part.cells[row], *cells[row]]) for row in rows.tolist())
    with replacing(job.keys(part.number)) as partial:
        np.save(partial, np.concatenate([found.values, found.listed[:, None].astype(np.float32)], axis=1))
    return found


def _lines(job: _Job, found: Sequence[_Found]) -> Iterator[str]:
    """The lines of all parts: one part after another, or merged by their order."""
    if job.order is None:
        for number in range(len(found)):
            with job.path(number).open(encoding="utf-8", newline="") as file:
                yield from file
        return
    listed = [part.values[part.listed] for part in found]
    starts = np.cumsum([0, *map(len, listed)]).tolist()
    files = [Sorted(job.path(number), values, starts[number]) for number, values in enumerate(listed)]
    yield from merged(files, job.order, job.delimiter, job.folder)
