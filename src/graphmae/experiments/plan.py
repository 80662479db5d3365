"""What pre-training will need on this machine, told before it: each way to do it, from a few real steps."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from .. import kernels
from ..config import Recipe, Train
from ..data import Dataset
from ..methods import Method
from ..runtime.compiled import limit_threads
from ..runtime.environment import cpu_count, free_bytes, hardware
from ..runtime.resting import resting_copy
from ..runtime.seed import preserved_randomness
from ..training.measuring import Measured, measure
from .memory import step_bytes, weight_bytes
from .pretrain import build, computing

MAY_MEASURE = 0.4  # of the free memory: a step is run as it is where it is estimated to need no more
MOST_EDGES = 4_000_000  # ... and has no more edges, so that an answer takes seconds
FITS = 0.9  # of the free memory
PART_NODES = 20_000  # of a part that stands for a graph too large to be run as it is
SEEDS = {"cpu": 512, "cuda": 4096}  # of a mini-batch
LONG = 3600.0  # seconds beyond which several GPUs are worth it
PROBE_BYTES = 1 << 25


@dataclass(frozen=True)
class Way:
    """One way to train.

    Attributes:
        name: "full graph", "mini-batches", "batches of graphs", or the same in several processes.
        settings: what `--set` takes for it.
        processes: how many there are; `bytes` are those of each.
        steps, seconds: of an epoch.
        source: where the numbers are from: "its steps", which were run; "a share's steps", those of one process; or "a
            part's steps", multiplied by how much larger the whole is.
        fits: whether the memory is there.
    """

    name: str
    settings: tuple[str, ...]
    processes: int
    bytes: int
    steps: int
    seconds: float
    source: str
    fits: bool

    @property
    def command(self) -> str:
        """What to write before and after the data: `torchrun …` and `--set …`."""
        launch = f"torchrun --nproc-per-node {self.processes} -m " if self.processes > 1 else ""
        return " ".join([f"{launch}graphmae pretrain DATA", *(f"--set {setting}" for setting in self.settings)])


@dataclass(frozen=True)
class Plan:
    """All ways, and the one that is recommended with its reason."""

    data: dict[str, Any]
    machine: str
    free_bytes: int
    epochs: int
    ways: tuple[Way, ...]
    recommended: str
    reason: str

    @property
    def best(self) -> Way:
        return next(way for way in self.ways if way.name == self.recommended)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines, for people."""
        header = ["way", "memory", "steps per epoch", "one epoch", f"{self.epochs} epochs", "from"]
        lines = []
        for way in self.ways:
            each = f" × {way.processes}" if way.processes > 1 else ""
            memory = f"{way.bytes / 2**30:.2f} GiB{each}{'' if way.fits else ' (too much)'}"
            times = [_clock(way.seconds), _clock(way.seconds * self.epochs)]
            lines.append([way.name, memory, f"{way.steps:,}", *times, way.source])
        return header, lines

    def to_dict(self) -> dict[str, Any]:
        ways = [{**asdict(way), "settings": list(way.settings), "command": way.command} for way in self.ways]
        return {**asdict(self), "ways": ways}


def plan(recipe: Recipe, dataset: Dataset, device: torch.device) -> Plan:
    """Measure what can be measured safely, and estimate the rest from it. Nothing is written."""
    facts = dict(dataset.summary())
    free = free_bytes(str(device)) or 1 << 62
    with preserved_randomness(0), computing(recipe.train, device):
        ways = list(_ways(recipe, dataset, device, free))
    best, reason = _choice(ways, recipe.train.epochs)
    where = hardware(str(device))
    return Plan({"name": dataset.name, **facts}, where, free, recipe.train.epochs, tuple(ways), best.name, reason)


def _ways(recipe: Recipe, dataset: Dataset, device: torch.device, free: int) -> Iterator[Way]:
    single = dataset.on_disk or (dataset.task == "node" and len(dataset.pretrain_graphs()) == 1)
    if not single:
        yield from _divided(recipe, dataset, device, free, "batches of graphs", ())
        return
    whole = _with(recipe, sampler="", parts=1, fanouts=(), steps=0, workers=0, batch_size=1)
    model = build(whole, dataset)
    seen = _as_seen(model, dataset)
    train = recipe.train
    if not train.sampler:
        kind = "neighbour" if model.of_seeds and not dataset.edge_channels else "cluster"
        train = replace(train, sampler=kind, parts=1, batch_size=SEEDS[device.type])  # type: ignore[arg-type]
    settings = tuple(f"train.{key}={getattr(train, key)}" for key in ("sampler", "batch_size"))
    yield _full(whole, model, seen, dataset, device, free)
    yield from _divided(replace(recipe, train=train), dataset, device, free, "mini-batches", settings, seen)


def _full(recipe: Recipe, model: Method, seen: Dataset, dataset: Dataset, device: torch.device, free: int) -> Way:
    """The graph at once: run as it is where that is safe, otherwise as many times a part as it is larger."""
    weights, step = weight_bytes(dataset, recipe), step_bytes(dataset, recipe)
    edges = dict(dataset.summary())["edges"]
    if not dataset.on_disk and weights + step < MAY_MEASURE * free and edges <= MOST_EDGES:
        found = measure(model, seen, recipe.train, device)
        return Way("full graph", (), 1, found.bytes, 1, found.seconds, "its steps", found.bytes < FITS * free)
    return estimated_full(recipe, model, seen, dataset, device, free)


def estimated_full(
    recipe: Recipe, model: Method, seen: Dataset, dataset: Dataset, device: torch.device, free: int
) -> Way:
    """From the edges among some nodes that are near each other, and among four times as many: what does not grow with
    the graph, as compiled kernels and weights, is not multiplied."""

    def of_part(nodes: int) -> tuple[float, Measured]:
        found = measure(model, seen, replace(recipe.train, sampler="cluster", batch_size=nodes), device)
        return step_bytes_of(recipe, dataset, found), found

    total = min(PART_NODES, dict(dataset.summary())["nodes"])
    of_part(max(2, total // 64))  # compiles kernels
    (less, small), (more, large) = of_part(max(2, total // 4)), of_part(total)
    beyond = max(0.0, step_bytes(dataset, recipe) - more)

    def grown(before: float, now: float) -> float:
        slope = (now - before) / max(more - less, 1.0)
        return now + beyond * (slope if slope > 0 else now / more)

    needed = max(int(grown(small.bytes, large.bytes)), weight_bytes(dataset, recipe))
    fits = needed < FITS * free and not dataset.on_disk
    return Way("full graph", (), 1, needed, 1, grown(small.seconds, large.seconds), "a part's steps", fits)


def step_bytes_of(recipe: Recipe, dataset: Dataset, found: Measured) -> float:
    """What `step_bytes` would say of a batch of this size: how it grows with nodes and edges is known from there."""
    facts = dict(dataset.summary())
    per_node = step_bytes(_Sized(dataset, facts["nodes"], 0), recipe) / max(facts["nodes"], 1)
    per_edge = step_bytes(_Sized(dataset, 0, facts["edges"]), recipe) / max(facts["edges"], 1)
    return found.nodes * per_node + found.edges * per_edge


class _Sized:
    """A data set of another size, as far as `step_bytes` asks."""

    on_disk = True

    def __init__(self, dataset: Dataset, nodes: int, edges: int) -> None:
        self.in_channels, self.sizes = dataset.in_channels, {"nodes": nodes, "edges": edges}

    def summary(self) -> Iterator[tuple[str, int]]:
        yield from self.sizes.items()


def _divided(
    recipe: Recipe,
    dataset: Dataset,
    device: torch.device,
    free: int,
    name: str,
    settings: tuple[str, ...],
    seen: Dataset | None = None,
) -> Iterator[Way]:
    """Batches in one process, and the same batches divided among as many as the machine has devices or cores for."""
    size, facts = recipe.train.batch_size, dict(dataset.summary())
    total = facts["nodes"] if recipe.train.sampler else facts.get("graphs", 1)
    steps = -(-total // size)
    processes = torch.cuda.device_count() if device.type == "cuda" else min(cpu_count(), size // 2, 8)
    for count in dict.fromkeys((1, max(1, processes))):
        model = build(recipe, dataset)
        own = _with(recipe, batch_size=max(2 if recipe.train.sampler else 1, size // count))
        with _threads(device, count):
            found = measure(model, seen or _as_seen(model, dataset), own.train, device)
        seconds = found.seconds + _exchange(model, count, device)
        fits = found.bytes * (count if device.type == "cpu" else 1) < FITS * free
        label, source = (name, "its steps") if count == 1 else (f"{name}, {count} processes", "a share's steps")
        yield Way(label, settings, count, found.bytes, steps, steps * seconds, source, fits)


def _choice(ways: list[Way], epochs: int) -> tuple[Way, str]:
    """The exact one where it fits; several GPUs where it takes long; else whatever fits."""
    fitting = [way for way in ways if way.fits]
    if not fitting:
        least = min(ways, key=lambda way: way.bytes * way.processes)
        return least, "nothing fits: take a narrower encoder (encoder.hidden_channels) or smaller batches"
    full = next((way for way in fitting if way.name == "full graph"), None)
    if full is not None:
        return full, "the whole graph fits, and nothing is approximated"
    first = fitting[0]
    several = next((way for way in fitting if way.processes > 1), None)
    if several is not None and several.seconds < 0.8 * first.seconds and first.seconds * epochs > LONG:
        return several, f"{first.seconds / several.seconds:.1f} times as fast as one process, each with its share"
    too_large = any(way.name == "full graph" for way in ways)
    return first, "the whole graph does not fit" if too_large else "one process is enough"


def _as_seen(model: Method, dataset: Dataset) -> Dataset:
    """The data set with the features the encoder learns from."""
    if model.views is None:
        return dataset
    views = resting_copy(model.views, "cpu")
    return dataset.with_features(lambda graph: views.inputs(graph.x, kernels.edges_of(graph)))


def _with(recipe: Recipe, **changes: Any) -> Recipe:
    train: Train = replace(recipe.train, patience=0, tensorboard=False, **changes)
    return replace(recipe, train=train)


@contextmanager
def _threads(device: torch.device, processes: int) -> Iterator[None]:
    """A block with the cores one of several processes on this machine has."""
    if device.type == "cuda" or processes == 1:
        yield
        return
    before = torch.get_num_threads()
    limit_threads(max(1, cpu_count() // processes))
    try:
        yield
    finally:
        limit_threads(before)


def _exchange(model: Method, processes: int, device: torch.device) -> float:
    """Seconds to add up gradients: each process sends and receives 2 (n − 1) / n of them."""
    if processes == 1:
        return 0.0
    size = sum(4 * weight.numel() for weight in model.parameters() if weight.requires_grad)
    rate = _rate_between_devices() if device.type == "cuda" else _rate_of_loopback()
    return 2 * (processes - 1) / processes * size / rate


def _rate_of_loopback() -> float:
    """Bytes per second through a local socket, as gloo sends them."""
    sender, receiver = socket.socketpair()
    content = bytes(PROBE_BYTES)
    thread = threading.Thread(target=sender.sendall, args=(content,), daemon=True)
    began, left = time.perf_counter(), len(content)
    thread.start()
    while left:
        left -= len(receiver.recv(min(left, 1 << 20)))
    thread.join()
    sender.close()
    receiver.close()
    return len(content) / (time.perf_counter() - began)


def _rate_between_devices() -> float:
    """Bytes per second from one GPU to another."""
    first, second = (torch.empty(PROBE_BYTES, dtype=torch.uint8, device=f"cuda:{i}") for i in (0, 1))
    second.copy_(first)
    torch.cuda.synchronize(0)
    began = time.perf_counter()
    second.copy_(first)
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    return PROBE_BYTES / (time.perf_counter() - began)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
