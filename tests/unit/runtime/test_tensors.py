"""Tensors are written as safetensors writes them, one at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from graphmae.runtime.tensors import Damaged, read_tensors, write_tensors


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
    read, metadata = read_tensors(tmp_path / "ours", must_have_digest=True)
    assert metadata == {"state": '{"step": 3}'} and read.keys() == tensors.keys()
    save_file(tensors, tmp_path / "theirs", {"state": '{"step": 3}'})
    ours, theirs = ((tmp_path / name).read_bytes() for name in ("ours", "theirs"))
    begins = [8 + int.from_bytes(file[:8], "little") for file in (ours, theirs)]  # where the numbers begin
    assert ours[begins[0] :] == theirs[begins[1] :]
    for key, value in load_file(tmp_path / "ours").items():
        assert torch.equal(value, tensors[key])
    write_tensors(tmp_path / "ours", {"t": torch.arange(6.0).reshape(2, 3).T}, {})
    assert torch.equal(load_file(tmp_path / "ours")["t"], torch.arange(6.0).reshape(2, 3).T)


@pytest.mark.parametrize("where", [-1, 30])
def test_a_flipped_bit_is_noticed(tmp_path: Path, where: int) -> None:
    path = tmp_path / "file"
    write_tensors(path, {"t": torch.arange(6.0)}, {"state": "1234567890"})
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged):
        read_tensors(path, must_have_digest=True)
