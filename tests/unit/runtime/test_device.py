from __future__ import annotations

import pytest
import torch

from graphmae.runtime.device import numerics, resolve_device
from graphmae.runtime.errors import InputError


def test_auto_and_explicit() -> None:
    assert resolve_device("auto").type in ("cpu", "cuda")
    assert resolve_device("cpu") == torch.device("cpu")


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="unknown device"):
        resolve_device("gpu7")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_without_cuda_is_refused() -> None:
    with pytest.raises(InputError, match="no CUDA device"):
        resolve_device("cuda")


def test_numerics_are_put_back() -> None:
    before = torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()
    with numerics(torch.device("cpu")):
        assert torch.are_deterministic_algorithms_enabled()
    assert (torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()) == before
