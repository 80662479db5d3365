"""Embeddings of every node of a graph of any size: layer by layer, some rows at a time, activations on disk.

Each layer is computed once for every node from the rows of all nodes it receives from, so the result is that of the
whole graph at once. What an interrupted call has done is kept in its scratch folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch
from ..batching.sampling import ALL, NeighbourSampler, moved
from ..data.compressed import MOST_MAPPED, CompressedGraph, FeatureRows, mapped_bytes, release
from ..data.tables import write_rows
from ..encoders import StackedEncoder
from ..runtime.errors import GraphMAEError, InputError
from ..runtime.files import behind_links, flush, replacing, write_json, writing
from .embedding import NodeReading, at_rest

logger = logging.getLogger("graphmae")
EDGES, ROWS = 1 << 20, 1 << 17  # of one block, at most; a single node may have more edges
SECONDS = 10.0  # between notes of how far it is
PROGRESS = "progress.json"
Pass = Callable[[Tensor, kernels.View], Tensor]


@dataclass(frozen=True)
class Stage:
    """One pass over all nodes: what it makes of the rows before, and how wide that is."""

    name: str
    compute: Pass
    width: int


def can_stage(encoder: nn.Module) -> bool:
    """Whether an encoder is a stack of layers that can be computed one by one."""
    return isinstance(encoder, StackedEncoder) and type(encoder).forward is StackedEncoder.forward


def stages_of(encoder: StackedEncoder) -> list[Stage]:
    blocks: list[Any] = list(encoder.blocks)
    return [Stage(f"layer {number}", block, int(block.width)) for number, block in enumerate(blocks, 1)]


def forward_bytes(encoder: nn.Module, graph_nodes: int, graph_edges: int) -> int:
    """A rough upper estimate of what a forward pass over a whole graph holds."""
    widest = max([int(getattr(encoder, "in_channels", 1)), *(w.size(0) for w in encoder.parameters() if w.dim() > 1)])
    return 4 * (3 * graph_nodes * widest + 8 * graph_edges)


def embed_layerwise(
    encoder: nn.Module,
    graph: CompressedGraph,
    scratch: Path,
    device: torch.device | str | None = None,
    reading: NodeReading | None = None,
    key: str = "",
) -> np.ndarray:
    """[N, out_channels], mapped from a file in `scratch`, equal to what the encoder gives for the whole graph.

    A second call with the same encoder, graph (`key` says which it is) and scratch folder goes on where the first was
    interrupted.
    """
    reading = reading or NodeReading()
    if not can_stage(encoder):
        raise InputError(
            f"{type(encoder).__name__} is not a stack of layers that can be computed one by one, and the graph does "
            "not fit into memory at once"
        )
    assert isinstance(encoder, StackedEncoder)
    side_by_side = encoder.output == "all" or reading.layers == "all"
    stages = stages_of(encoder)
    keeps = [*range(len(stages))] if side_by_side else [len(stages) - 1]
    _check_room(scratch, graph, stages, keeps, reading)
    work = _Work(graph, scratch, _identity(encoder, graph, reading, key))
    with at_rest(encoder, device) as (encoder, used):
        stages = stages_of(encoder)
        layers: list[np.ndarray] = []
        rows: FeatureRows = graph.features
        for number, stage in enumerate(stages):
            if number not in keeps and number < work.latest(len(stages)):  # of an earlier call, and not needed again
                continue
            found = work.run(number, stage, rows, used)
            if number > 0 and number - 1 not in keeps:
                work.drop(number - 1)
            layers.append(found)
            rows = FeatureRows(found)
        final = layers[-1] if len(keeps) == 1 else work.side_by_side(len(stages), layers)
        if reading.smooth:
            final = work.smoothed(len(stages) + 1, final, reading.smooth, used)
        if reading.l2:
            final = work.scaled(final)
    return final


class _Work:
    """The scratch folder: one file for each stage, and a note of how far each is."""

    def __init__(self, graph: CompressedGraph, scratch: Path, identity: str) -> None:
        self.graph, self.scratch = graph, scratch
        self.done: dict[str, int] = {}
        note = scratch / PROGRESS
        if note.is_file():
            try:
                before = json.loads(note.read_text())
                same = before.get("identity") == identity
            except (ValueError, AttributeError):
                same = False
            if same:
                self.done = {str(k): int(v) for k, v in before["done"].items()}
            else:
                shutil.rmtree(scratch)
        scratch.mkdir(parents=True, exist_ok=True)
        self.identity, self.noted = identity, time.monotonic()

    def latest(self, count: int) -> int:
        """The last of the first `count` stages that an earlier call has finished; −1: none."""
        finished = (n for n in range(count) if self.done.get(str(n), 0) >= self.graph.num_nodes)
        return max((n for n in finished if (self.scratch / f"stage-{n}.npy").is_file()), default=-1)

    def _file(self, number: int, width: int) -> np.ndarray:
        path = self.scratch / f"stage-{number}.npy"
        shape = (self.graph.num_nodes, width)
        with writing(path, 4 * shape[0] * shape[1]):
            if path.is_file() and str(number) in self.done:
                return np.lib.format.open_memmap(path, "r+")
            self.done[str(number)] = 0
            return np.lib.format.open_memmap(path, "w+", np.float32, shape)

    def _note(self, number: int, done: int, array: np.ndarray, always: bool = False) -> None:
        if always or time.monotonic() - self.noted > SECONDS:
            array.flush()  # type: ignore[attr-defined]
            self.done[str(number)] = done
            write_json(self.scratch / PROGRESS, {"identity": self.identity, "done": self.done})
            if not always:
                logger.info("  stage %d: %s of %s rows", number + 1, f"{done:,}", f"{self.graph.num_nodes:,}")
            self.noted = time.monotonic()

    def run(self, number: int, stage: Stage, rows: FeatureRows, device: torch.device) -> np.ndarray:
        """One stage over all nodes that are not done yet."""
        out, nodes = self._file(number, stage.width), self.graph.num_nodes
        if self.done[str(number)] >= nodes:
            return out
        for begin, end, batch in _blocks(self.graph, rows, self.done[str(number)], device):
            assert isinstance(batch.graph, kernels.Adjacency)
            wanted = torch.arange(end - begin, device=device)
            found = stage.compute(batch.x, kernels.View(batch.graph, wanted)).float().cpu()
            if not bool(torch.isfinite(found).all()):
                wrong = begin + int((~torch.isfinite(found)).any(1).nonzero()[0])
                raise GraphMAEError(
                    f"{stage.name} of node {wrong} is not finite. The features are too large for this model: scale "
                    "them as its training data was scaled"
                )
            with writing(self.scratch, found.numel() * 4):
                out[begin:end] = found.numpy()
            if mapped_bytes() > MOST_MAPPED:
                for array in (out, rows.array, self.graph.indices, self.graph.indptr):
                    release(array)
            self._note(number, end, out)
        self._note(number, nodes, out, always=True)
        release(rows.array)  # the next stage reads another
        return out

    def drop(self, number: int) -> None:
        (self.scratch / f"stage-{number}.npy").unlink(missing_ok=True)

    def side_by_side(self, number: int, layers: list[np.ndarray]) -> np.ndarray:
        out = self._file(number, sum(layer.shape[1] for layer in layers))
        for begin in range(self.done[str(number)], self.graph.num_nodes, ROWS):
            end = min(begin + ROWS, self.graph.num_nodes)
            out[begin:end] = np.concatenate([layer[begin:end] for layer in layers], axis=1)
            self._note(number, end, out)
            if mapped_bytes() > MOST_MAPPED:
                for array in (out, *layers):
                    release(array)
        self._note(number, self.graph.num_nodes, out, always=True)
        return out

    def smoothed(self, number: int, final: np.ndarray, steps: int, device: torch.device) -> np.ndarray:
        """Rows with Â^steps of them added."""
        rows = final
        for step in range(steps):
            stage = Stage(f"smoothing {step + 1}", _averaged, final.shape[1])
            rows = self.run(number + step, stage, FeatureRows(rows), device)
        out = self._file(number + steps, final.shape[1])
        for begin in range(0, self.graph.num_nodes, ROWS):
            out[begin : begin + ROWS] = final[begin : begin + ROWS] + rows[begin : begin + ROWS]
        self._note(number + steps, self.graph.num_nodes, out, always=True)
        return out

    def scaled(self, final: np.ndarray) -> np.ndarray:
        """Every row of length 1; doing it again changes nothing."""
        for begin in range(0, self.graph.num_nodes, ROWS):
            final[begin : begin + ROWS] = F.normalize(torch.from_numpy(np.array(final[begin : begin + ROWS]))).numpy()
        return final


def _averaged(x: Tensor, view: kernels.View) -> Tensor:
    return kernels.aggregate(view, x.unsqueeze(1), view.adj.symmetric_weight).squeeze(1)


def _blocks(
    graph: CompressedGraph, rows: FeatureRows, first: int, device: torch.device
) -> Iterator[tuple[int, int, Batch]]:
    """(begin, end, the nodes between them and all they receive from), the next ones prepared meanwhile."""
    sampler = NeighbourSampler(graph, [ALL])

    def made(begin: int, end: int) -> Batch:
        sample = sampler.sample(np.arange(begin, end), 0)
        return Batch(rows.take(sample.nodes), sample.adjacency())

    waiting: deque[tuple[int, int, Future[Batch]]] = deque()
    with ThreadPoolExecutor(1, "gathering") as pool:
        for begin, end in _cuts(graph, first):
            waiting.append((begin, end, pool.submit(made, begin, end)))
            if len(waiting) > 1:
                begin, end, batch = waiting.popleft()
                yield begin, end, moved(batch.result(), device)
        for begin, end, batch in waiting:
            yield begin, end, moved(batch.result(), device)


def _cuts(graph: CompressedGraph, first: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most so many edges together."""
    begin = first
    while begin < graph.num_nodes:
        ends = np.asarray(graph.indptr[begin + 1 : begin + 1 + ROWS])
        count = max(1, int(np.searchsorted(ends, int(graph.indptr[begin]) + EDGES, side="right")))
        yield begin, begin + count
        begin += count


def _check_room(
    scratch: Path, graph: CompressedGraph, stages: list[Stage], keeps: list[int], reading: NodeReading
) -> None:
    """Refuse what would fill the disk, before hours of work."""
    widths = [stage.width for stage in stages]
    wide = sum(widths) * 2 if len(keeps) > 1 else max(sum(pair) for pair in zip(widths, [0, *widths], strict=False))
    wide += 3 * widths[-1] if reading.smooth else 0
    needed, folder = 4 * wide * graph.num_nodes, scratch
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free and not (scratch / PROGRESS).is_file():
        raise InputError(
            f"embeddings of {graph.num_nodes:,} nodes need {needed / 2**30:.1f} GiB of disk on the way and {folder} "
            f"has {free / 2**30:.1f}; write to another disk, or take a narrower encoder"
        )


def _identity(encoder: nn.Module, graph: CompressedGraph, reading: NodeReading, key: str) -> str:
    """What a scratch folder belongs to."""
    digest = hashlib.sha256(repr((key, graph.num_nodes, graph.num_edges, reading)).encode())
    for name, value in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def written_rows(final: np.ndarray, out: Path, ids: Any, id_name: str) -> None:
    """Embeddings that are mapped as a file: .npy as it is, .parquet a piece at a time, others at once."""
    if out.suffix == ".npy":
        put_in_place(final, out)
        return
    if out.suffix != ".parquet":
        write_rows(out, final, ids, id_name=id_name)
        return
    names = [f"z{i}" for i in range(final.shape[1])]
    if ids is not None and id_name in names:
        raise InputError(f"the column of ids is called {id_name!r}, as one of the numbers would be; write .npy")
    fields = [] if ids is None else [pa.field(id_name, ids.type)]
    schema = pa.schema([*fields, *(pa.field(name, pa.float32()) for name in names)])
    with replacing(out) as partial, pyarrow.parquet.ParquetWriter(partial, schema) as writer:
        for begin in range(0, len(final), ROWS):
            rows = np.ascontiguousarray(final[begin : begin + ROWS].T)
            columns = [] if ids is None else [ids.slice(begin, rows.shape[1]).combine_chunks()]
            writer.write_table(pa.table([*columns, *map(pa.array, rows)], schema=schema))
            if mapped_bytes() > MOST_MAPPED:
                release(final)


def put_in_place(final: np.ndarray, out: Path) -> None:
    """A finished file of embeddings under its own name."""
    final.flush()  # type: ignore[attr-defined]
    source = Path(str(final.filename))  # type: ignore[attr-defined]
    with writing(out):
        flush(source)
        source.replace(behind_links(out))
