"""Planetoid's pickles are read without unpickling: what is forged is refused, what is real comes out the same."""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from graphmae.data.benchmarks import planetoid_files
from graphmae.data.benchmarks.planetoid import raw_files, read
from graphmae.data.benchmarks.planetoid_files import read_array, read_matrix, read_neighbours
from graphmae.runtime.errors import DataError

# sha256 of the tensors the unpickler of the first version gave.
BEFORE = {
    "Cora": "ce88ebd951148a79075e6f0e1677c58a9b1647c23fa0b62e8b45ad932bcfb97a",
    "CiteSeer": "0d627faf67b363cea9c8ed7c87aff69c8b0afd2056d794fbc50d19327b765285",
    "PubMed": "5f823e38169a8b40c22b75c808b3020364ec3254787534a2844820c9fa8fd7a2",
}


@pytest.mark.data
@pytest.mark.parametrize("name", BEFORE)
def test_the_real_sets_are_bit_identical_to_before(name: str, data_root: Path) -> None:
    tensors, digest = read(name, raw_files(name).locate(data_root)), hashlib.sha256()
    for key in sorted(tensors):
        digest.update(f"{key}:{tensors[key].dtype}:{tuple(tensors[key].shape)};".encode())
        digest.update(tensors[key].numpy().tobytes())
    assert digest.hexdigest() == BEFORE[name]


def dense(path: Path) -> np.ndarray:
    matrix = read_matrix(path)
    out = np.zeros(matrix.shape, dtype=np.float32)
    matrix.add_to(out, np.arange(matrix.shape[0]))
    return out


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("fix_imports", [True, False])
def test_files_of_todays_libraries_in_every_protocol(tmp_path: Path, protocol: int, fix_imports: bool) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "part"

    def write(value: Any) -> Path:
        path.write_bytes(pickle.dumps(value, protocol=protocol, fix_imports=fix_imports))
        return path

    matrix = (rng.random((30, 400)) < 0.3) * rng.normal(size=(30, 400)).astype(np.float32)
    assert np.array_equal(dense(write(sp.csr_matrix(matrix))), matrix)
    for array in (np.eye(3), np.asfortranarray(rng.normal(size=(20, 30))), np.arange(600, dtype=">i4").reshape(2, 300)):
        assert np.array_equal(read_array(write(array)), array)
    graph: dict[int, list[int]] = defaultdict(list, {0: [1, 2], 1: [0], 2: [], 3: [70_000]})
    assert read_neighbours(write(graph))[1].tolist() == [[0, 1], [0, 2], [1, 0], [3, 70_000]]
    assert read_neighbours(write(dict(graph)))[0] == 4


def forged(**changes: Any) -> sp.csr_matrix:
    """A matrix whose inside is not what it says."""
    matrix = sp.csr_matrix(np.eye(4, dtype=np.float32))
    matrix.__dict__.update(changes)
    return matrix


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"indices": np.array([0, 1, 2, 10**8], np.int32)}, "outside of its 4 columns"),
        ({"indices": np.array([0, 1, 2, -7], np.int32)}, "outside of its 4 columns"),
        ({"indptr": np.array([0, 10**6, 2, 3, 4], np.int32)}, "do not follow"),
        ({"indptr": np.array([5, 6, 7, 8, 9], np.int32)}, "do not follow"),
        ({"indptr": np.array([0, 1, 2, 3, 10**9], np.int32)}, "do not end"),
        ({"indptr": np.array([0, 4], np.int32)}, "do not follow"),
        ({"data": np.ones(2, np.float32)}, "do not end"),
        ({"data": np.array([1, 2, 3, np.nan], np.float32)}, "NaN"),
        ({"indices": np.arange(4.0)}, "whole numbers"),
        ({"_shape": (10**6, 10**6)}, "are not read"),
        ({"_shape": (-1, 4)}, "cannot be"),
        ({"_shape": "ab"}, "cannot be"),
        ({"data": [1, 2, 3, 4]}, "not an array"),
    ],
)
def test_forged_matrices_are_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    (tmp_path / "part").write_bytes(pickle.dumps(forged(**changes), protocol=2))
    with pytest.raises(DataError, match=said):
        read_matrix(tmp_path / "part")


ARRAY = pickle.dumps(np.arange(6.0).reshape(2, 3), protocol=2)
TYPE = b"(K\x03X\x01\x00\x00\x00<q\x0eNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"X\x02\x00\x00\x00f8", b"X\x02\x00\x00\x00O8"),  # pointers
        (b"X\x02\x00\x00\x00f8", b"X\x02\x00\x00\x00V8"),
        (b"X\x02\x00\x00\x00f8", b"X\x02\x00\x00\x00f4"),  # another length
        (b"K\x02K\x03\x86", b"K\x02K\x04\x86"),
        (b"K\x02K\x03\x86", b"K\x02J\xff\xff\xff\xff\x86"),
        (b"NNNJ", b"N}NJ"),  # names of fields, through the state: how a forged type was made
        (b"NNNJ", b"K\x01NNJ"),
        (b"cnumpy\ndtype", b"cbuiltins\neval"),
        (b"cnumpy\ndtype", b"cnumpy\nndarray"),
    ],
)
def test_forged_arrays_are_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    assert old in ARRAY
    (tmp_path / "part").write_bytes(ARRAY.replace(old, new, 1))
    with pytest.raises(DataError, match="Planetoid"):
        read_array(tmp_path / "part")


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", r"os\.system"),
        (b"(lp0\n(lp1\n.", "dictionary of lists"),
        (b"\x80\x02}" + b"(" * 1000 + b"t.", "Planetoid"),
        (b"\x80\x02}(\x8a\x09" + b"\xff" * 8 + b"\x00]u.", "number"),
        (b"\x80\x02}(]]u.", "keys"),
        (b"\x80\x02}K\x00]q\x01(" + b"K\x01" * 2000 + b"es" + b"".join(b"J%b" % i.to_bytes(4, "little") + b"h\x01s" for i in range(2000)) + b".", "edges"),  # noqa: E501
        (b"", "truncated"),
        (b".", "Planetoid"),
        (b"\x80\x02P1\n.", "PERSID"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"os\.system"),
    ],
)  # fmt: skip
def test_other_pickles_are_refused(tmp_path: Path, payload: bytes, said: str) -> None:
    (tmp_path / "part").write_bytes(payload)
    with pytest.raises(DataError, match=said):
        read_neighbours(tmp_path / "part")


def test_the_number_of_steps_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid_files, "MOST_STEPS", 1000)
    (tmp_path / "part").write_bytes(b"\x80\x02" + b"]" * 2000 + b".")
    with pytest.raises(DataError, match="more than 1,000 steps"):
        read_neighbours(tmp_path / "part")
