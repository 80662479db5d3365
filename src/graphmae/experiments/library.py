"""Predictions for a library of any size: some thousand molecules at a time, on all cores, written part by part.

OUT.parts/          beside the file that is asked for, until that is complete
  made_of.json      which molecules, model and order; parts of anything else are not gone on with
  000000.csv        the rows of a part, in their order or, where they are ranked, sorted
"""

from __future__ import annotations

import csv
import heapq
import logging
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import pretrained
from ..finetuning import Answers, Committee
from ..runtime.compiled import limit_threads
from ..runtime.environment import cpu_count
from ..runtime.errors import InputError, Interrupted, StopRequest
from ..runtime.files import read_json, replacing, write_json
from ..runtime.signals import obey_parent

PART = 8192  # molecules that are predicted together
FEW = 2 * PART  # molecules that need no other process
NOT_A_MOLECULE = "not a molecule"
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Columns:
    """What is written for every molecule, beside the cells it came with."""

    names: tuple[str, ...]
    kind: str
    knows_training: bool

    @property
    def header(self) -> list[str]:
        out = []
        for name in self.names:
            out.append(f"{name}_predicted")
            if self.kind == "regression" and self.knows_training:
                out += [f"{name}_low", f"{name}_high"]
            out.append(f"{name}_spread")
        near = ["nearest_smiles", "nearest_id", "tanimoto", "embedding_similarity", "domain"]
        return [*out, *(near if self.knows_training else []), "problem"]

    def rows(self, committee: Committee, answers: Answers) -> list[list[str]]:
        """The cells of every molecule."""
        columns: list[Sequence[str]] = []
        for target in range(len(self.names)):
            columns.append(_numbers(answers.values[:, target]))
            if answers.low is not None and answers.high is not None and self.knows_training:
                columns += [_numbers(answers.low[:, target]), _numbers(answers.high[:, target])]
            columns.append(_numbers(answers.spread[:, target]))
        near, automatic = answers.near, committee.automatic
        if near is not None and automatic is not None and automatic.domain is not None:
            smiles, ids = automatic.domain.smiles, automatic.domain.ids
            columns += [[smiles[i] for i in near.nearest], [ids[i] for i in near.nearest]]
            columns += [[f"{value:.3f}" for value in values.tolist()] for values in (near.tanimoto, near.cosine)]
            columns.append(["in" if inside else "out" for inside in near.inside])
        return [[*row, ""] for row in zip(*columns, strict=True)]


def _numbers(values: np.ndarray) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]


@dataclass(frozen=True)
class Order:
    """By which target rows are sorted, and which come first."""

    target: int
    descending: bool = True

    def key(self, value: float) -> float:
        """Rows that are not molecules come last."""
        return float("inf") if value != value else -value if self.descending else value


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
    top: int = 0,
    device: torch.device,
    jobs: int | None = None,
) -> np.ndarray:
    """Predict every row, (cells, SMILES), and write them to `out` (.csv, .tsv); returns [rows, T] in the rows' order.

    `model` is the folder of a run, so that every process can load it, or a committee, which stays in this one. A call
    that was interrupted goes on with the parts it left, if `made_of` is the same. With an `order` the rows are sorted
    part by part and then merged, so memory does not grow with the library; with `top` only the first ones are written.
    """
    committee = model if isinstance(model, Committee) else pretrained.load_committee(model)
    columns = Columns(committee.names, committee.kind, committee.automatic is not None)
    if taken := [name for name in columns.header if name in header]:
        raise InputError(f"the table already has a column {taken[0]!r}; rename it, the predictions are called so")
    job = _Job(columns, order, _claim(out, made_of), "\t" if out.suffix == ".tsv" else ",")
    began = shown = time.monotonic()
    values, total = [], 0
    source = model if isinstance(model, str | Path) and device.type == "cpu" else None
    try:
        for found in _parts(job, committee, source, _cut(rows), device, jobs or cpu_count()):
            values.append(found)
            total, now = total + len(found), time.monotonic()
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
        csv.writer(file, delimiter=job.delimiter, lineterminator="\n").writerow([*header, *columns.header])
        written, outside, far = 0, 0, f"{job.delimiter}out{job.delimiter}\n"  # the last columns: domain, problem
        for line in islice(_lines(job, len(values)), top or None):
            file.write(line)
            written, outside = written + 1, outside + line.endswith(far)
    if outside and columns.knows_training:
        logger.warning(
            "predict: %d of the %d molecules in the table are unlike all the predictor was trained on (domain: out): "
            "what is predicted of them promises nothing", outside, written,
        )  # fmt: skip
    shutil.rmtree(job.folder)
    return np.concatenate(values)


def _claim(out: Path, made_of: dict[str, Any]) -> Path:
    """The folder of the parts; what another call left there is removed, what this one left is kept."""
    folder = out.with_name(f"{out.name}.parts")
    note = folder / "made_of.json"
    if note.is_file() and read_json(note) == made_of:
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


def _parts(
    job: _Job, committee: Committee, source: str | Path | None, parts: Iterator[Part], device: torch.device, jobs: int
) -> Iterator[np.ndarray]:
    """[rows, T] of every part in order; a few are under way at a time."""
    first = list(islice(parts, -(-FEW // PART)))
    if source is None or jobs < 2 or sum(len(part.texts) for part in first) < FEW:
        for part in [*first, *parts]:
            yield _finished(job, part) if job.keys(part.number).is_file() else _predict(job, committee, part, device)
        return
    waiting: deque[Future[np.ndarray] | np.ndarray] = deque()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _prepare, (job, str(source)))
    try:
        for part in chain(first, parts):
            is_there = job.keys(part.number).is_file()
            waiting.append(_finished(job, part) if is_there else pool.submit(_in_process, part))
            if len(waiting) > 2 * jobs:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _result(found: Future[np.ndarray] | np.ndarray) -> np.ndarray:
    return found if isinstance(found, np.ndarray) else found.result()


def _finished(job: _Job, part: Part) -> np.ndarray:
    return np.asarray(np.load(job.keys(part.number)))


_own: tuple[_Job, Committee] | None = None  # of a process that predicts parts


def _prepare(job: _Job, model: str) -> None:
    global _own
    obey_parent()
    limit_threads(1)  # one process per core
    _own = job, pretrained.load_committee(model)


def _in_process(part: Part) -> np.ndarray:
    assert _own is not None
    job, committee = _own
    return _predict(job, committee, part, torch.device("cpu"))


def _predict(job: _Job, committee: Committee, part: Part, device: torch.device) -> np.ndarray:
    """Predict a part and write it; the values are written last, so a part that has them is complete."""
    molecules = committee.featurize(part.texts)
    answers = committee.answer(molecules, device)
    values = np.full((len(part.texts), len(committee.names)), np.nan, dtype=np.float32)
    values[molecules.rows] = answers.values
    cells = [[*[""] * (len(job.columns.header) - 1), NOT_A_MOLECULE] for _ in part.texts]
    for row, found in zip(molecules.rows.tolist(), job.columns.rows(committee, answers), strict=True):
        cells[row] = found
    ranks = list(range(len(cells)))
    if (order := job.order) is not None:
        sorted_by = values[:, order.target].tolist()
        ranks.sort(key=lambda row: order.key(sorted_by[row]))
    with replacing(job.path(part.number)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=job.delimiter, lineterminator="\n")
        writer.writerows([*part.cells[row], *cells[row]] for row in ranks)
    with replacing(job.keys(part.number)) as partial:
        np.save(partial, values)
    return values


def _lines(job: _Job, count: int) -> Iterator[str]:
    """The lines of all parts: one part after another, or merged by their order."""
    if job.order is None:
        for number in range(count):
            with job.path(number).open(encoding="utf-8", newline="") as file:
                yield from file
        return
    streams = [_keyed(job, number) for number in range(count)]
    yield from (line for _, _, line in heapq.merge(*streams))


def _keyed(job: _Job, number: int) -> Iterator[tuple[float, tuple[int, int], str]]:
    """(what it is sorted by, where it was, the line) of a part that is sorted."""
    assert job.order is not None
    values = np.load(job.keys(number))[:, job.order.target]
    keys = sorted((job.order.key(float(value)), row) for row, value in enumerate(values))
    with job.path(number).open(encoding="utf-8", newline="") as file:
        for (key, row), record in zip(keys, csv.reader(file, delimiter=job.delimiter), strict=True):
            yield key, (number, row), _record(record, job.delimiter)


def _record(cells: Sequence[str], delimiter: str) -> str:
    import io

    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return text.getvalue()
