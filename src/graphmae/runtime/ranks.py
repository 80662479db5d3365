"""Which of several processes this one is, as `torchrun` tells it in the environment. Knows no torch.

`torchrun` sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and, when it starts everything again after a failure,
TORCHELASTIC_RESTART_COUNT. Without them there is one process.
"""

from __future__ import annotations

import os

from .errors import InputError


def rank() -> int:
    """The number of this process among all, from 0 up; only rank 0 reports and writes."""
    return _number("RANK", 0)


def size() -> int:
    """How many processes there are.

    >>> size() >= 1
    True
    """
    return _number("WORLD_SIZE", 1)


def local_rank() -> int:
    """The number of this process among those of its machine: that of its GPU."""
    return _number("LOCAL_RANK", rank())


def local_size() -> int:
    """How many processes of this run there are on this machine."""
    return _number("LOCAL_WORLD_SIZE", size())


def restarts() -> int:
    """How often torchrun has started everything again after a failure."""
    return _number("TORCHELASTIC_RESTART_COUNT", 0)


def resumes(asked: bool) -> bool:
    """Whether a run goes on with what an earlier one left: when it is `asked` to, or was started again by torchrun."""
    return asked or restarts() > 0


def check_alone(what: str) -> None:
    """Refuse work that is not divided, where several processes would each do all of it."""
    if size() > 1:
        raise InputError(f"{what} runs in one process; start it without torchrun")


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    try:
        return int(text) if text else otherwise
    except ValueError:
        raise InputError(f"{name} must be a whole number, as torchrun sets it, not {text!r}") from None
