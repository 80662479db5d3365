"""How much memory some work took."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
