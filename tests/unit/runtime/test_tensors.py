"""Tensors are written as safetensors writes them, one at a time."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from graphmae.runtime.tensors import write_tensors


def test_the_file_is_the_one_safetensors_writes(tmp_path: Path) -> None:
    tensors = {
        "b": torch.arange(6.0).reshape(2, 3),
        "a": torch.tensor(2.5),
        "ids": torch.arange(3),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "no": torch.zeros(0, 4),
        "ü": torch.tensor([True, False, True]),
        "codes": torch.arange(5, dtype=torch.uint8),
    }
    write_tensors(tmp_path / "ours", tensors, {"state": '{"step": 3}'})
    save_file(tensors, tmp_path / "theirs", {"state": '{"step": 3}'})
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    for key, value in load_file(tmp_path / "ours").items():
        assert torch.equal(value, tensors[key])
    write_tensors(tmp_path / "ours", {"t": torch.arange(6.0).reshape(2, 3).T}, {})
    assert torch.equal(load_file(tmp_path / "ours")["t"], torch.arange(6.0).reshape(2, 3).T)
