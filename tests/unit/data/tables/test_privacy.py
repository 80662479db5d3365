"""What a private checkpoint holds of the tables: hashes, which embed new tables as the words would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import graphmae as gm
from graphmae.runtime.errors import InputError

Tables = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture
def tables() -> Tables:
    rng = np.random.default_rng(0)
    words, towns = [f"secretword{i}" for i in range(30)], ["Springfield", "Shelbyville", "Ogdenville"]
    nodes = {
        "id": list(range(80)),
        "title": [" ".join(rng.choice(words, 5)) for _ in range(80)],
        "town": rng.choice(towns, 80).tolist(),
        "age": rng.normal(40, 9, 80).tolist(),
    }
    return nodes, {"source": rng.integers(0, 80, 150).tolist(), "target": rng.integers(0, 80, 150).tolist()}


def columns_sorted(x: torch.Tensor) -> torch.Tensor:
    return x[:, torch.from_numpy(np.lexsort(x.numpy()))]


def test_features_are_those_of_the_words_in_another_order(tables: Tables) -> None:
    plain, hidden = (gm.data.from_tables(*tables, private=private, quiet=True) for private in (False, True))
    assert not torch.equal(plain.graphs[0].x, hidden.graphs[0].x)
    assert torch.equal(columns_sorted(plain.graphs[0].x), columns_sorted(hidden.graphs[0].x))
    again = gm.data.from_tables(*tables, private=True, quiet=True)
    assert again.treatment == hidden.treatment  # an interrupted run can go on


def test_no_file_of_the_folder_has_a_word_and_new_tables_are_embedded(tables: Tables, tmp_path: Path) -> None:
    out, options = tmp_path / "model", {"overrides": ["encoder.hidden_channels=8"], "progress": False, "device": "cpu"}
    model = gm.pretrain("auto", tables, 2, out, private=True, **options)
    for file in out.iterdir():
        assert not any(word in file.read_bytes() for word in (b"secretword", b"ville", b"Spring")), file
    later = gm.data.from_tables(*tables, treatment=gm.load(out).inputs, quiet=True)
    assert torch.equal(gm.embed(out, later), gm.embed(model, gm.data.from_tables(*tables, private=True, quiet=True)))
    assert later.graphs[0].x.count_nonzero() == gm.data.from_tables(*tables, quiet=True).graphs[0].x.count_nonzero()
    tables[0]["town"][0] = "Elsewhere"
    changed = gm.data.from_tables(*tables, treatment=gm.load(out).inputs, quiet=True)
    assert any("1 cell of 'town' with levels the model does not know" in line for line in changed.report.lines())


def test_what_cannot_be_hidden_is_refused(tables: Tables) -> None:
    made = gm.data.from_tables(*tables, quiet=True)
    with pytest.raises(InputError, match=r"from_tables\(…, private=True\)"):
        gm.pretrain("auto", made, 1, private=True, progress=False)
    with pytest.raises(InputError, match="--private hides words and categories of tables, and synthetic is not"):
        gm.pretrain("auto", "synthetic", 1, private=True, progress=False)
