"""How much memory some work took."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOWER = (
    "lower encoder.hidden_channels or train.batch_size (finetune.batch_size) with --set, train a single graph in parts "
    "(--set train.parts=4), or free memory; a run that was begun with enough goes on with --resume from its last save"
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether there was no memory: Python's own error, CUDA's, or that of torch on the CPU, which has no class."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
    )


def out_of_memory(error: BaseException) -> str:
    """What happened and what to do about it, in one sentence."""
    asked = re.search(r"(?:allocate|allocated:?) +([\d.]+ [GMK]iB|\d+ bytes)", str(error))
    return f"out of memory{f' (asked for {asked[1]} more)' if asked else ''}: {LOWER}"


STATM = Path("/proc/self/statm")
SECONDS_BETWEEN_LOOKS = 0.02


class Peak:
    """The most bytes held at a time, above what was held before; 0 where that cannot be told."""

    bytes: int = 0


@contextmanager
def peak_memory(device: str) -> Iterator[Peak]:
    """Watch a block: memory of the device on CUDA, else resident memory of this process, looked at 50 times a second.

    >>> with peak_memory("cpu") as peak:
    ...     block = bytearray(b"x" * 50_000_000)
    >>> peak.bytes == 0 or peak.bytes > 10_000_000
    True
    """
    peak = Peak()
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield peak
        peak.bytes = torch.cuda.max_memory_allocated(device) - before
    elif not STATM.exists():
        yield peak
    else:
        before, over = _resident(), threading.Event()

        def watch() -> None:
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                peak.bytes = max(peak.bytes, _resident() - before)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield peak
        finally:
            over.set()
            watcher.join()
            peak.bytes = max(peak.bytes, _resident() - before)


def _resident() -> int:
    import resource

    return int(STATM.read_text().split()[1]) * resource.getpagesize()
