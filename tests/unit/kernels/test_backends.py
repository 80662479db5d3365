"""The three implementations have the same operations with the same parameters, as kernels/README.md says."""

from __future__ import annotations

import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from graphmae import kernels
from graphmae.kernels import cpu, reference
from graphmae.runtime.device import numerics

README = (Path(kernels.__file__).parent / "README.md").read_text()
SHARED = (
    "aggregate", "attend", "batch_norm", "column_sums", "cosine", "dropout", "dropped_rows", "filled_up", "layer_norm",
    "lookup", "mm", "parted", "pool", "prelu",
)  # fmt: skip


def parameters(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SHARED)
def test_numba_has_what_the_reference_has(name: str) -> None:
    assert parameters(getattr(cpu, name)) == parameters(getattr(reference, name))


@pytest.mark.parametrize("name", SHARED)
def test_triton_has_what_the_reference_has(name: str) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    from graphmae.kernels import cuda

    assert parameters(getattr(cuda, name)) == parameters(getattr(reference, name))


def test_the_readme_names_every_operation() -> None:
    table = README.split("| operation |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table)) - {"valid"}
    operations = set(SHARED) | {"adam_step", "take_padded", "chosen_within"}
    assert operations <= set(kernels.__all__) and operations <= named


def test_the_readme_names_the_caches_that_are_there() -> None:
    caches = {
        f"{path.stem}.{name}"
        for path in Path(kernels.__file__).parents[1].rglob("*.py")
        for name in re.findall(r"^(_\w+)\b.*= WeakIdKeyDictionary\(\)", path.read_text(), re.MULTILINE)
    }
    assert caches and all(cache.split(".")[1] in README and cache.split(".")[0] in README for cache in caches)
    assert len(caches) == 5


def test_where_bits_must_be_the_same_cuda_has_plain_kernels_in_every_thread() -> None:
    """Autograd computes gradients on CUDA in threads of its own, which a choice of the training's does not reach."""
    pytest.importorskip("triton", reason="Triton is not installed")
    with ThreadPoolExecutor(1) as another, numerics(torch.device("cuda"), deterministic=True):
        assert not kernels.has("cuda")
        assert not another.submit(kernels.has, "cuda").result()
        assert kernels.has("cpu")
    assert kernels.has("cuda")
