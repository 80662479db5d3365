"""Masks as people have them: ten splits side by side, or training nodes alone."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import DataError, InputError

NODES, SPLITS = 60, 4
ROWS = ["raw", "untrained", "supervised"]
QUICK = ["evaluation.epochs=5", f"evaluation.baselines={ROWS}", "evaluation.supervised_epochs=3"]


def graph(columns: int = 0) -> Data:
    """Sixty nodes of two classes that features tell apart; masks [60], or [60, columns]."""
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 2
    ends = torch.randint(NODES, (2, 120), generator=draw)
    data = Data(
        x=torch.rand(NODES, 4, generator=draw) + 0.4 * y.unsqueeze(1),
        edge_index=torch.cat([ends, ends.flip(0)], 1), y=y,
    )  # fmt: skip
    parts = torch.stack([torch.randperm(NODES, generator=draw) * 3 // NODES for _ in range(max(columns, 1))], dim=1)
    for number, key in enumerate(("train_mask", "val_mask", "test_mask")):
        data[key] = parts == number if columns else (parts == number).flatten()
    return data


def one_split(data: Data, number: int) -> Data:
    out = data.clone()
    for key in ("train_mask", "val_mask", "test_mask"):
        out[key] = data[key][:, number] if data[key].dim() == 2 else data[key]
    return out


@pytest.fixture(scope="module")
def model() -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(gm.encoders.GCN(4, hidden_channels=8), gm.decoders.GCN(8, 4))


def test_every_one_of_several_splits_is_scored(model: gm.GraphMAE, caplog: pytest.LogCaptureFixture) -> None:
    """Masks [N, 10], the usual form of heterophilous sets, were refused."""
    data = graph(SPLITS)
    with caplog.at_level("INFO", logger="graphmae"):
        result = gm.evaluate(model, data, overrides=QUICK)
    assert "4 splits" in caplog.text
    assert (len(result.runs), result.repeated, result.seeds) == (SPLITS, "splits", list(range(SPLITS)))
    alone = [gm.evaluate(model, one_split(data, number), overrides=QUICK) for number in range(SPLITS)]
    for row in ("pretrained", *ROWS):
        for key in alone[0].runs[0]["rows"][row]:
            assert result.column(row, key) == [each.column(row, key)[0] for each in alone]
    assert result.mean == statistics.fmean(result.scores) and result.std == statistics.stdev(result.scores)
    assert len(set(result.scores)) > 1


def test_several_seeds_are_averaged_in_each_split(model: gm.GraphMAE) -> None:
    """An entry of the result is a split, so the deviation is that over splits, whatever the number of seeds."""
    data = graph(SPLITS)
    both = gm.evaluate(model, data, seeds=[0, 1], overrides=QUICK)
    each = [gm.evaluate(model, data, seeds=[seed], overrides=QUICK) for seed in (0, 1)]
    assert both.scores == pytest.approx([(a + b) / 2 for a, b in zip(each[0].scores, each[1].scores, strict=True)])


def test_a_mask_that_is_the_same_in_all_splits_may_be_a_row(model: gm.GraphMAE) -> None:
    """WikiCS has twenty training masks and one test mask."""
    data = graph(SPLITS)
    data.test_mask = data.test_mask[:, 0]
    data.train_mask, data.val_mask = (data[key] & ~data.test_mask.unsqueeze(1) for key in ("train_mask", "val_mask"))
    result = gm.evaluate(model, data, overrides=QUICK)
    alone = [gm.evaluate(model, one_split(data, number), overrides=QUICK).scores[0] for number in range(SPLITS)]
    assert result.scores == alone


def test_one_column_is_one_split(model: gm.GraphMAE) -> None:
    """[N, 1] is [N]."""
    result = gm.evaluate(model, graph(1), overrides=QUICK)
    assert result.scores == gm.evaluate(model, one_split(graph(1), 0), overrides=QUICK).scores
    assert result.repeated == "seeds"


def test_a_train_mask_alone_is_taken(model: gm.GraphMAE, caplog: pytest.LogCaptureFixture) -> None:
    """Training nodes alone were refused; the others now validate and test, and that is said."""
    data = graph()
    del data.val_mask, data.test_mask
    with caplog.at_level("WARNING", logger="graphmae"):
        result = gm.evaluate(model, data, overrides=QUICK)
    assert "train_mask" in caplog.text and result.scores == gm.evaluate(model, data, overrides=QUICK).scores
    from graphmae.data.open import open_dataset
    from graphmae.data.splits import with_split

    splits: Any = with_split(open_dataset(data)).splits
    masks = {key: splits[key][0][1] for key in ("train", "val", "test")}
    assert torch.equal(masks["train"], data.train_mask) and torch.equal(sum(masks.values()), torch.ones(NODES))
    assert 0 < int(masks["val"].sum()) < int(masks["test"].sum())
    several = graph(SPLITS)
    del several.val_mask, several.test_mask
    assert len(gm.evaluate(model, several, overrides=QUICK).runs) == SPLITS


def test_what_does_not_fit_is_refused_in_words(model: gm.GraphMAE) -> None:
    """Other shapes, masks of different numbers of splits, and splits that overlap, are sentences."""
    wrong: list[tuple[dict[str, torch.Tensor], str]] = [
        ({"val_mask": torch.zeros(NODES, SPLITS + 1, dtype=torch.bool)}, "as many columns"),
        ({"val_mask": torch.zeros(SPLITS, NODES, dtype=torch.bool)}, "val_mask must be"),
        ({"train_mask": torch.ones(NODES, SPLITS)}, "train_mask must be"),
        ({"val_mask": graph(SPLITS).train_mask}, "both the train and the val split"),
        ({"val_mask": torch.zeros(NODES, SPLITS, dtype=torch.bool)}, r"val split .* is empty"),
    ]
    for changes, words in wrong:
        data = graph(SPLITS)
        for key, value in changes.items():
            data[key] = value
        with pytest.raises(DataError, match=words):
            gm.evaluate(model, data, overrides=QUICK)


def test_several_splits_in_run_and_compare_and_select(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other commands do not quietly take the first split: a seed's score is the mean over all of them."""
    data = graph(SPLITS)
    np.savez(tmp_path / "graph.npz", **{key: value.numpy() for key, value in data})
    raw = gm.recipe("default", "train.epochs=1", "encoder.hidden_channels=8", *QUICK).to_dict()
    raw["data"] = {"name": "file", "path": str(tmp_path / "graph.npz")}
    result = gm.run(raw, [0], tmp_path / "run", progress=False)
    splits = result.runs[0]["splits"]["pretrained"]
    assert len(splits) == SPLITS and result.mean == pytest.approx(statistics.fmean(each["last"] for each in splits))
    scored = gm.evaluate(tmp_path / "run", tmp_path / "graph.npz", overrides=QUICK)
    assert scored.scores == [each["last"] for each in splits]
    with pytest.raises(InputError, match="one split"):
        gm.pretrain("auto", data, 1, select="y", progress=False)


def test_the_command_line_says_what_the_deviation_is_over(tmp_path: Path, model: gm.GraphMAE) -> None:
    """`graphmae evaluate CKPT graph.pt` with masks [N, k] prints mean ± deviation over splits."""
    torch.save(graph(SPLITS), tmp_path / "graph.pt")
    model.inputs = {"features": "raw", "self_loops": True}
    model.save_pretrained(tmp_path / "model")
    words = (
        "evaluate",
        tmp_path / "model",
        tmp_path / "graph.pt",
        "--set",
        QUICK[0],
        "--set",
        "evaluation.baselines=[]",
    )
    done = graphmae(*words)
    assert done.returncode == 0, done.stderr
    assert "4 splits" in done.stdout and "±" in done.stdout
    done = graphmae(*words, "--json")
    assert len(json.loads(done.stdout)["scores"]) == SPLITS
