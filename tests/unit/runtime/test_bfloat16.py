"""A matrix unit that is announced and does not work must not end the process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from graphmae.runtime import bfloat16
from graphmae.runtime.device import numerics
from graphmae.runtime.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(bfloat16.ISA, raising=False)
    bfloat16._works.cache_clear()
    yield
    bfloat16._works.cache_clear()


@pytest.mark.parametrize("product", ["import os, signal; os.kill(os.getpid(), signal.SIGILL)", "raise RuntimeError"])
def test_it_is_refused_where_it_fails(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "cpu_flags", lambda: {"amx_bf16"})
    monkeypatch.setattr(bfloat16, "PRODUCT", product)
    for precision in ("bf16", "amp-bf16"):
        with pytest.raises(InputError, match="ONEDNN_MAX_CPU_ISA"), numerics(CPU, precision):
            pass
    with numerics(CPU, "tf32"):  # no other precision is touched
        pass
    monkeypatch.setenv(bfloat16.ISA, "AVX2")  # what the message advises
    bfloat16.check_bfloat16()


@pytest.mark.parametrize(("flags", "product"), [({"amx_bf16"}, "pass"), ({"avx512f"}, "raise RuntimeError")])
def test_it_is_allowed_where_it_works_or_is_not_announced(
    flags: set[str], product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "cpu_flags", lambda: flags)
    monkeypatch.setattr(bfloat16, "PRODUCT", product)
    bfloat16.check_bfloat16()
