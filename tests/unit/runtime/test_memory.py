"""Too little memory is one sentence, whoever noticed it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphmae.runtime.memory import is_out_of_memory, out_of_memory


def test_every_kind_of_error_is_known() -> None:
    with pytest.raises(RuntimeError) as on_cpu:
        torch.empty(10**15)
    with pytest.raises(MemoryError) as in_numpy:
        np.empty(10**15)
    on_cuda = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of …")
    assert all(is_out_of_memory(error) for error in (on_cpu.value, in_numpy.value, on_cuda))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert out_of_memory(on_cuda).startswith("out of memory (asked for 20.00 GiB more): lower encoder.hidden_channels")
    assert "asked for 4000000000000000 bytes more" in out_of_memory(on_cpu.value)
    assert out_of_memory(MemoryError()).startswith("out of memory: lower")
