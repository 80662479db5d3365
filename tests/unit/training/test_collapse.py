"""A training that learns nothing is noticed, and an ordinary one is left alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import graphmae as gm
from graphmae.runtime.errors import GraphMAEError, NotFinite
from graphmae.training.collapse import Collapse

MANY = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
LINE = MANY[:, :1] * torch.ones(1, 8) + 1e-3 * MANY
SMALL = ["train.patience=0", "encoder.hidden_channels=8", "embedding.views=[]"]


def watching(rows: list[torch.Tensor]) -> Callable[[], Collapse]:
    watch = Collapse(iter(rows).__next__, epochs=4)
    watch.start()
    return lambda: watch


def test_equal_embeddings_end_the_training_unless_they_were_equal_before() -> None:
    watch = watching([MANY, MANY, torch.ones(200, 8)])()
    watch(1)
    with pytest.raises(GraphMAEError, match="in epoch 2 all nodes get the same"):
        watch(2)
    watching([torch.ones(200, 8), torch.ones(200, 8)])()(1)


def test_embeddings_of_one_direction_are_worth_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    watch = watching([MANY, LINE, LINE, LINE])()
    for epoch in (1, 2, 3, 4):
        watch(epoch)
    assert [record.message.count("they vary in 1.0 directions") for record in caplog.records] == [1]


def test_a_loss_that_stays_is_worth_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    for last in (0.5, 0.693):
        watch = watching([MANY])()
        for loss in (0.693, last):
            watch.note(1, torch.tensor(loss))
        watch.finish(100)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "nothing was learned" in caplog.text


def test_watching_changes_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gm.data.load("synthetic", num_nodes=80).graphs[0]

    def weights() -> dict[str, torch.Tensor]:
        return gm.pretrain("auto", graph, 8, overrides=SMALL, device="cpu", progress=False).state_dict()

    watched = weights()
    monkeypatch.setattr(Collapse, "start", lambda self: None)  # without a look before there is none after
    for key, value in weights().items():
        assert torch.equal(value, watched[key]), key


def test_a_huge_feature_is_named_and_else_the_learning_rate(tmp_path: Path) -> None:
    graph = gm.data.load("synthetic", num_nodes=80).graphs[0]
    model = gm.GraphMAE(
        gm.encoders.build("gcn", in_channels=600, hidden_channels=8, num_layers=1, norm="none"),
        gm.decoders.build("linear", in_channels=8, out_channels=600),
        gm.masking.build("random", rate=0.5),
        gm.losses.build("mse"),
    )
    with pytest.raises(NotFinite, match=r"in epoch \d+; try a smaller learning rate"):
        gm.pretrain(model, graph, 40, lr=1e25, progress=False)
    huge = graph.clone()
    huge.x = huge.x.clone()
    huge.x[3, 7] = 1e30
    with pytest.raises((NotFinite, GraphMAEError), match="column 7"):
        gm.pretrain("default", huge, 5, overrides=["encoder.hidden_channels=8", "loss.name=mse"], progress=False)
