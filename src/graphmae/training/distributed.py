"""Several processes that train one model: `torchrun --nproc-per-node 2 -m graphmae pretrain …`.

Every process holds the model, takes its share of every batch, and the gradients are added up by torch's
DistributedDataParallel before each process makes the same step. What they draw at random (masks, dropout) is their own.

There are two groups of the same processes: one for gradients (NCCL on CUDA, gloo on the CPU), and one on the host for
everything else (gloo): what rank 0 has decided or read, requests to stop, generators to be saved. A process that was
killed closes its connections, and the others notice at the next step.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import load as tensors_from
from safetensors.torch import save as bytes_of
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.parallel import DistributedDataParallel

from ..batching import Shuffled
from ..runtime import ranks as environment
from ..runtime import signals
from ..runtime.compiled import is_forked, limit_threads
from ..runtime.environment import cpu_count
from ..runtime.errors import GraphMAEError, InputError
from ..runtime.seed import random_state, seed_everything

LONGEST_STEP = timedelta(minutes=10)  # nobody waits longer for another's gradients
LONGEST_WAIT = timedelta(days=2)  # ... and for rank 0, which may evaluate meanwhile
LET_GO = 0.1  # seconds at the end, for what other threads still hold
LOST = re.compile(r"gloo|nccl|connection|socket|peer|timed? ?out|store", re.IGNORECASE)
RandomState = tuple[dict[str, Tensor], dict[str, Any]]


class Unreachable(GraphMAEError):
    """Another process of the same training has ended."""


@dataclass(frozen=True)
class Ranks:
    """All processes of a training, as one of them sees them.

    Attributes:
        rank: the number of this one; rank 0 reports and writes.
        size: how many there are.
        gradients, host: the group gradients go through, and that for everything else; None where there is one process.

    >>> ALONE.share(torch.arange(3)).tolist(), ALONE.agree("yes")
    ([0, 1, 2], 'yes')
    """

    rank: int = 0
    size: int = 1
    gradients: Any = None
    host: Any = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, items: Tensor) -> Tensor:
        """Of `items` [M], the same on every rank, those of this rank: a slice, of the same length within one.

        >>> [Ranks(rank, 2).share(torch.arange(5)).tolist() for rank in (0, 1)]
        [[0, 1, 2], [3, 4]]
        """
        return items.tensor_split(self.size)[self.rank]

    def span(self, count: int) -> range:
        """The same of the numbers 0 … count − 1.

        >>> Ranks(1, 3).span(10)
        range(4, 7)
        """
        whole, rest = divmod(count, self.size)
        begin = self.rank * whole + min(self.rank, rest)
        return range(begin, begin + whole + (self.rank < rest))

    def agree(self, value: Any) -> Any:
        """What rank 0 has: JSON values."""
        return value if self.size == 1 else json.loads(self._from_first(json.dumps(value).encode()))

    def of_first(self, numbers: Tensor) -> Tensor:
        """Those of rank 0, into a tensor of this shape on the host."""
        if self.size > 1:
            with self.reaching():
                dist.broadcast(numbers, 0, group=self.host)
        return numbers

    def same(self, tensors: dict[str, Tensor], values: dict[str, str]) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors and texts of rank 0; what the others hand in does not matter."""
        if self.size == 1:
            return tensors, values
        content = self._from_first(bytes_of(tensors) if self.is_first else b"")
        return tensors_from(content), self.agree(values)

    def highest(self, *numbers: int) -> list[int]:
        """The largest of each number over all ranks, as signals and requests to save are."""
        if self.size == 1:
            return list(numbers)
        found = torch.tensor([int(number) for number in numbers])
        with self.reaching():
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self.host)
        return found.tolist()

    def wait(self) -> None:
        """Until every rank is here."""
        self.highest(0)

    def add_up(self, numbers: Tensor) -> Tensor:
        """Σ over ranks of `numbers`, in place, on their device."""
        if self.size > 1:
            with self.reaching():
                dist.all_reduce(numbers, group=self.gradients)
        return numbers

    def others_random(self) -> list[RandomState]:
        """On rank 0 the random generators of all other ranks; called on every rank at the same time."""
        if self.size == 1:
            return []
        tensors, values = random_state()
        states = []
        for content in self._gathered(bytes_of({**tensors, "values": _bytes(json.dumps(values).encode())}))[1:]:
            one = tensors_from(content)
            states.append((one, json.loads(one.pop("values").numpy().tobytes())))
        return states

    def draw_own(self) -> None:
        """From now on every rank draws random numbers of its own, all following from those of rank 0."""
        if self.size == 1:
            return
        drawn = self.agree(int(torch.randint(2**62, ())))
        if not self.is_first:
            seed_everything(int(np.random.SeedSequence([drawn, self.rank]).generate_state(1)[0]))

    def wrap(self, module: nn.Module, sync_norm: bool = True) -> nn.Module:
        """The module with gradients that are the mean over ranks; batch norms look at the rows of all of them."""
        if self.size == 1:
            return module
        for part in module.modules():
            if hasattr(part, "add_up"):
                part.add_up = self._added_up if sync_norm else None  # type: ignore[assignment]
        self.same_buffers(module)
        with self.reaching(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the new name is not in every version that is allowed
            # Weights a draw leaves out have no gradient; buffers are made the same after every epoch, not every step.
            return DistributedDataParallel(
                module, process_group=self.gradients, find_unused_parameters=True, broadcast_buffers=False
            )

    def unwrap(self, module: nn.Module) -> None:
        """Leave the module as it was."""
        for part in module.modules() if self.size > 1 else ():
            if hasattr(part, "add_up"):
                part.add_up = None  # type: ignore[assignment]

    def same_buffers(self, module: nn.Module) -> None:
        """What a module has beside its weights, as averages of batch norms are, becomes that of rank 0."""
        with self.reaching():
            for buffer in module.buffers() if self.size > 1 else ():
                dist.broadcast(buffer, 0, group=self.gradients)

    def unsynchronised(self, module: nn.Module, syncs: bool) -> AbstractContextManager[None]:
        """A block after which gradients are not added up over ranks yet, unless it `syncs`."""
        return nullcontext() if syncs or self.size == 1 else module.no_sync()  # type: ignore[operator]

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """A block in which another process is waited for: if it has ended, so does this one, with a sentence."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not LOST.search(f"{type(error).__name__} {error}"):
                raise
            _end_at_once()
            raise Unreachable(
                f"rank {self.rank}: another process of this training has ended or cannot be reached; see its messages. "
                "The same command with --resume goes on from the last save"
            ) from error

    def _from_first(self, content: bytes) -> bytes:
        length = torch.tensor([len(content)])
        with self.reaching():
            dist.broadcast(length, 0, group=self.host)
            found = _bytes(content) if self.is_first else torch.empty(int(length), dtype=torch.uint8)
            dist.broadcast(found, 0, group=self.host)
        return found.numpy().tobytes()

    def _gathered(self, content: bytes) -> list[bytes]:
        """What each rank hands in, on rank 0; nothing on the others."""
        own = _bytes(len(content).to_bytes(8, "little") + content)
        own = nn.functional.pad(own, (0, self.highest(len(own))[0] - len(own)))
        found = [torch.empty_like(own) for _ in range(self.size)] if self.is_first else None
        with self.reaching():
            dist.gather(own, found, group=self.host)
        contents = [one.numpy().tobytes() for one in found or ()]
        return [one[8 : 8 + int.from_bytes(one[:8], "little")] for one in contents]

    def _added_up(self, numbers: Tensor) -> Tensor:
        out: Tensor = _AddedUp.apply(numbers, self)
        return out


ALONE = Ranks()


class _AddedUp(Function):
    """Σ over ranks, and the same of the gradients."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.add_up(numbers.clone())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.ranks.add_up(grad.clone()), None


class Shared:
    """This rank's share of every batch of graphs; the order of an epoch is rank 0's.

    A last batch with fewer graphs than there are ranks is left out; its graphs have their turn in another epoch.

    Args:
        ids: [M] the numbers of all graphs.
        size: of a batch, over all ranks together.
        take: numbers of graphs → what a step is given.
    """

    def __init__(self, ids: Tensor, size: int, take: Callable[[Tensor], Any], ranks: Ranks) -> None:
        if min(size, len(ids)) < ranks.size:
            raise InputError(
                f"a batch of {min(size, len(ids))} cannot be divided among {ranks.size} processes; train.batch_size is "
                f"for all of them together: --set train.batch_size={4 * ranks.size}, or start fewer"
            )
        self.ids, self.size, self.take, self.ranks = ids, size, take, ranks

    def __len__(self) -> int:
        whole, rest = divmod(len(self.ids), self.size)
        return whole + (rest >= self.ranks.size)

    def __iter__(self) -> Iterator[Any]:
        order = self.ranks.of_first(torch.randperm(len(self.ids)))
        for chosen in self.ids[order].split(self.size)[: len(self)]:
            yield self.take(self.ranks.share(chosen))


def shared_or_shuffled(ids: Tensor, size: int, take: Callable[[Tensor], Any], ranks: Ranks) -> Shared | Shuffled:
    """Batches of graphs, or of several processes this one's share of each."""
    return Shuffled(ids, size, take) if ranks.size == 1 else Shared(ids, size, take, ranks)


_ranks: Ranks | None = None
_is_lost = False


def connect(device: torch.device) -> Ranks:
    """The processes `torchrun` has started, connected for the length of this process; `ALONE` where there is one.

    A group that is there already (`torch.distributed.init_process_group`) is used.
    """
    global _ranks
    if _ranks is not None:
        return _ranks
    if not dist.is_initialized():
        if environment.size() == 1:
            return ALONE
        if device.type == "cuda":
            torch.cuda.set_device(device)
        try:
            store, rank, size = next(dist.rendezvous("env://", timeout=LONGEST_STEP))
            # torchrun keeps the store when it starts everything again, with the addresses of processes that have ended.
            store = dist.PrefixStore(f"attempt-{environment.restarts()}", store)
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, timeout=LONGEST_STEP, store=store, rank=rank, world_size=size)
        except (RuntimeError, ValueError) as error:
            raise GraphMAEError(
                f"rank {environment.rank()} of {environment.size()} cannot reach the others ({error}); check "
                "MASTER_ADDR and MASTER_PORT, which torchrun sets"
            ) from None
        atexit.register(_disconnect)
    if dist.get_world_size() == 1:
        return ALONE
    _ranks = Ranks(dist.get_rank(), dist.get_world_size(), dist.group.WORLD, dist.new_group(
        backend="gloo", timeout=LONGEST_WAIT
    ))  # fmt: skip
    signals.obey_launcher()
    if device.type == "cpu" and not is_forked():
        limit_threads(max(1, cpu_count() // environment.local_size()))
    if not _ranks.is_first:
        logging.getLogger("graphmae").setLevel(logging.ERROR)
    return _ranks


def _disconnect() -> None:
    global _ranks
    if _is_lost:  # what was sent to a process that has ended is never taken: nothing more is waited for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    _ranks = None
    if dist.is_initialized():
        dist.destroy_process_group()
        # A thread of gloo may be about to drop a Python object; were the interpreter gone, it would abort the process.
        time.sleep(LET_GO)


def _end_at_once() -> None:
    global _is_lost
    _is_lost = True


def _bytes(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)
