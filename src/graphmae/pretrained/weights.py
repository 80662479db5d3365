"""model.safetensors: its header is compared with the model before anything is allocated, its numbers must be finite."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules import module as registration

from ..runtime.errors import ConfigError, InputError
from ..runtime.tensors import Damaged, read_tensors
from ..runtime.untrusted import refuse_special

MOST_HEADER = 1 << 25
KINDS = {"F": "floating", "B": "floating", "I": "whole", "U": "whole"}  # F32, BF16, I64, U8; BOOL is apart
M = TypeVar("M", bound=nn.Module)
Header = dict[str, tuple[str, tuple[int, ...]]]


def read_header(path: Path) -> Header:
    """Name → (kind of number, shape) of every tensor, from the first bytes of the file alone."""
    refuse_special(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > min(size - 8, MOST_HEADER):
                raise ValueError("its header is longer than the file")
            stored = json.loads(file.read(length))
        stored.pop("__metadata__", None)
        header = {_own_name(str(name)): _entry(entry) for name, entry in stored.items()}
        ends = [entry["data_offsets"][1] for entry in stored.values()]
        if ends and max(ends) != size - 8 - length:
            raise ValueError("it is cut off")
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        RecursionError,
        struct.error,
    ) as error:
        raise InputError(f"{path.parent}: model.safetensors is damaged or missing ({_short(error)})") from None
    return header


def _entry(entry: Any) -> tuple[str, tuple[int, ...]]:
    shape = tuple(entry["shape"])
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise ValueError("a tensor has an impossible shape")
    dtype = str(entry["dtype"])
    return "true or false" if dtype == "BOOL" else KINDS.get(dtype[:1], dtype), shape


def _own_name(name: str) -> str:
    """The weights of a loss had another name in format 1."""
    return re.sub(r"^loss\.", "criterion.", name)


def build_to_fit(folder: Path, build: Callable[[], M]) -> M:
    """What `build` makes, after a plan of it without memory has shown that it is what model.safetensors holds."""
    header = read_header(folder / "model.safetensors")
    with limited(header):
        try:
            with torch.device("meta"):
                plan = build()
        except NotImplementedError:  # a part of one's own that looks at numbers while it is made
            plan = None
        if plan is not None:
            _compare(plan, header, folder)
        with torch.device("cpu"):
            return build()


@contextmanager
def limited(header: Header) -> Iterator[None]:
    """A block in which a model much larger than its weights cannot be built."""
    own, modules, numbers = get_ident(), 1000 + 20 * len(header), 10**7 + 20 * _numbers(header)

    def count(module: nn.Module, name: str, part: Any) -> None:
        nonlocal modules, numbers
        if get_ident() != own:  # another thread builds something else
            return
        modules -= 1
        numbers -= part.numel() if isinstance(part, Tensor) else 0
        if modules < 0 or numbers < 0:
            raise ConfigError(
                f"config.json describes a much larger model than the {len(header)} tensors of model.safetensors"
            )

    hooks = [
        registration.register_module_module_registration_hook(count),
        registration.register_module_parameter_registration_hook(count),
        registration.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _numbers(header: Header) -> int:
    return sum(math.prod(shape) for _, shape in header.values())


def _compare(plan: nn.Module, header: Header, folder: Path) -> None:
    wanted = {key: value for key, value in plan.state_dict().items() if not is_training_only(plan, key)}
    wrong = [f"{key!r} is missing" for key in wanted if key not in header]
    wrong += [f"{key[:80]!r} belongs to no part" for key in header if key not in wanted]
    for key in wanted.keys() & header.keys():
        kind, shape = header[key]
        if tuple(wanted[key].shape) != shape:
            wrong.append(f"{key!r} has the shape {list(shape)}, not {list(wanted[key].shape)}")
        elif _kind(wanted[key]) != kind:
            wrong.append(f"{key!r} holds {kind} numbers, not {_kind(wanted[key])}")
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise InputError(f"{folder}: model.safetensors does not fit config.json: {'; '.join(wrong[:3])}{more}")


def _kind(tensor: Tensor) -> str:
    return "floating" if tensor.is_floating_point() else "true or false" if tensor.dtype == torch.bool else "whole"


def fill(module: nn.Module, folder: Path) -> None:
    """Weights from the folder, every number of them finite."""
    path = folder / "model.safetensors"
    refuse_special(path)
    try:
        weights = {_own_name(key): value for key, value in read_tensors(path)[0].items()}
    except Damaged as error:
        raise InputError(f"{folder}: model.safetensors is damaged ({_short(error)})") from None
    refuse_not_finite(module, weights, str(folder))
    kept = {key: value for key, value in module.state_dict().items() if is_training_only(module, key)}
    try:
        module.load_state_dict(kept | weights)
    except RuntimeError as error:
        raise InputError(f"{folder}: model.safetensors does not fit config.json ({_short(error)})") from None


def refuse_not_finite(module: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """A model with NaN or infinite weights gives nothing but NaN; where a part means infinity, it says so."""
    meant = {
        f"{prefix}.{name}".lstrip(".")
        for prefix, part in module.named_modules()
        for name in getattr(part, "may_be_infinite", ())
    }
    for key, value in weights.items():
        if value.is_floating_point() and not (~value.isnan() if key in meant else value.isfinite()).all():
            raise InputError(f"{where}: the weights {key!r} hold NaN or infinite numbers, so the model is of no use")


def is_training_only(module: nn.Module, key: str) -> bool:
    return key.split(".")[0] in getattr(module, "training_only", ())


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
