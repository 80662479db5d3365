"""TensorBoard, for those who have it open anyway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..runtime.errors import InputError


def tensorboard(folder: Path) -> Callable[[dict[str, Any]], None]:
    """A function that writes every number of a metrics line for TensorBoard to show."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("train.tensorboard needs TensorBoard: pip install 'graphmae[tensorboard]'") from None
    writer = SummaryWriter(str(folder))

    def log(line: dict[str, Any]) -> None:
        for key, value in line.items():
            if isinstance(value, int | float) and key not in ("epoch", "stop"):
                writer.add_scalar(key, value, line["epoch"])
        writer.flush()

    return log
