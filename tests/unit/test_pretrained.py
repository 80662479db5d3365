from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.methods import build
from graphmae.runtime.errors import ConfigError, InputError


def make(**options: object) -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(
        gm.encoders.GAT(in_channels=6, hidden_channels=8, num_layers=3, heads=2, norm="batch", output="all"),
        gm.decoders.GIN(in_channels=8, out_channels=6),
        gm.masking.RandomNodeMask(rate=0.3, replace_rate=0.1),
        gm.losses.ScaledCosineError(gamma=2),
        **options,
    )


def test_a_fresh_process_rebuilds_the_exact_model(tmp_path: Path, tiny: Data) -> None:
    model = make(remask="learnable", drop_edge=0.1)
    gm.pretrain(model, tiny, epochs=3, out=tmp_path / "model", progress=False, device="cpu")
    np.savez(tmp_path / "graph.npz", x=tiny.x.numpy(), edge_index=tiny.edge_index.numpy())
    code = (
        "import sys, numpy, graphmae as gm\n"
        "model = gm.load(sys.argv[1])\n"
        "numpy.save(sys.argv[3], gm.embed(model, sys.argv[2]).numpy())\n"
        "print(model.remask.kind, model.drop_edge, model.mask.rate, model.criterion.gamma)\n"
    )
    arguments = [str(tmp_path / name) for name in ("model", "graph.npz", "z.npy")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["learnable", "0.1", "0.3", "2"]
    assert np.array_equal(np.load(tmp_path / "z.npy"), gm.embed(model, tiny).numpy())


def test_the_folder_is_readable_by_a_person(tmp_path: Path) -> None:
    make().save_pretrained(tmp_path / "model")
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert config["encoder"] | {"name": "gat", "heads": 2, "output": "all"} == config["encoder"]
    card = (tmp_path / "model/README.md").read_text()
    assert "gm.load" in card
    assert "| heads | 2 |" in card


def test_the_card_is_one_page_without_words_and_values(tmp_path: Path) -> None:
    """However many columns, categories and words: kinds and counts."""
    titles = [" ".join(f"word{(7 * row + k) % 300}x" for k in range(6)) for row in range(200)]
    nodes: dict[str, object] = {"id": range(200), "title": titles}
    nodes |= {f"city{i}": [f"town{(i + row) % 40}x" for row in range(200)] for i in range(100)}
    graph = gm.data.from_tables(nodes, {"source": range(199), "target": range(1, 200)}, quiet=True)
    short = ("encoder.hidden_channels=8", "train.patience=5", "train.lr=1e-9")
    gm.pretrain("auto", graph, 40, tmp_path / "model", overrides=short, progress=False, device="cpu")
    card = (tmp_path / "model/README.md").read_text()
    assert len(card) < 3000 and len(card.splitlines()) < 60
    assert "| category | 100 | 4,000 categories |" in card and "| text | 1 | 300 words |" in card
    assert "word1x" not in card and "town1x" not in card and "city1" not in card
    assert "Training stopped after 10 of 40 epochs: the loss of hidden nodes has not improved by 0.5% in 5" in card


def test_a_part_that_is_not_registered_cannot_be_saved(tmp_path: Path) -> None:
    class Own(gm.encoders.GCN):
        pass

    model = gm.GraphMAE(Own(6, 8), gm.decoders.GCN(8, 6))
    with pytest.raises(ConfigError, match="not registered"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: (p / "config.json").unlink(), "not a checkpoint"),
        (lambda p: (p / "config.json").write_text("{"), "JSON"),
        (lambda p: (p / "config.json").write_text("{}"), "format"),
        (lambda p: (p / "model.safetensors").write_bytes(b"1234"), "damaged"),
        (lambda p: (p / "model.safetensors").unlink(), "damaged"),
    ],
)
def test_damaged_folders_give_one_clear_message(damage, message: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make().save_pretrained(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        gm.load(tmp_path)


def test_an_unknown_part_says_how_to_help(tmp_path: Path) -> None:
    make().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["encoder"]["name"] = "theirs"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="import the module that registers it"):
        gm.load(tmp_path)


@pytest.mark.parametrize("loss", gm.losses.names())
def test_a_model_with_any_loss_comes_back(loss: str, tmp_path: Path) -> None:
    recipe = gm.recipe("default", f"loss.name={loss}", "encoder.hidden_channels=8", "encoder.heads=2")
    build(recipe, 4).save_pretrained(str(tmp_path / "model"))
    assert type(gm.load(tmp_path / "model").loss) is type(build(recipe, 4).loss)


def test_a_model_on_the_hub_is_fetched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = gm.recipe("default", "encoder.hidden_channels=8", "encoder.heads=2")
    build(recipe, 4).save_pretrained(str(tmp_path / "model"))
    asked = []

    class Hub:
        @staticmethod
        def snapshot_download(name: str, allow_patterns: list[str]) -> str:
            asked.append((name, allow_patterns))
            if name != "me/mine":
                raise OSError("no such repository")
            return str(tmp_path / "model")

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert gm.load("hf:me/mine").encoder.in_channels == 4
    assert asked == [("me/mine", ["config.json", "model.safetensors", "README.md"])]
    with pytest.raises(InputError, match="no such repository"):
        gm.load("hf:me/other")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"graphmae\[hub\]"):
        gm.load("hf:me/mine")
