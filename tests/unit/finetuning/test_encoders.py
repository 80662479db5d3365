"""Several trainings as one encoder."""

from __future__ import annotations

import copy

import torch

from graphmae import encoders
from graphmae.finetuning.encoders import averaged
from graphmae.finetuning.predictor import Predictor


def test_heads_of_one_encoder_are_averaged_in_the_units_of_the_target() -> None:
    torch.manual_seed(0)
    encoder, states, rows = encoders.GIN(4, hidden_channels=8), [], torch.randn(5, 8)
    answers = []
    for scale, center in ((2.0, 10.0), (0.5, -3.0)):
        predictor = Predictor(copy.deepcopy(encoder), ["a", "b"], "regression")
        predictor.scale.fill_(scale)
        predictor.center.fill_(center)
        states.append(predictor.state_dict())
        answers.append(predictor.answer(predictor.head(rows)))
    one = Predictor(copy.deepcopy(encoder), ["a", "b"], "regression")
    one.load_state_dict(averaged(states))
    assert torch.allclose(one.answer(one.head(rows)), torch.stack(answers).mean(0), atol=1e-5)


def test_weights_are_averaged_and_counts_are_kept() -> None:
    network = torch.nn.BatchNorm1d(3)
    states = []
    for value in (1.0, 3.0):
        network.weight.data.fill_(value)
        extra = {"head.weight": torch.ones(1, 3), "head.bias": torch.zeros(1)}
        buffers = {"center": torch.zeros(1), "scale": torch.ones(1)}
        states.append({**{k: v.clone() for k, v in network.state_dict().items()}, **extra, **buffers})
    found = averaged(states)
    assert found["weight"].tolist() == [2.0] * 3 and found["num_batches_tracked"].dtype == torch.int64
