"""Every registered part passes the contract of its kind; registering means being tested."""

from __future__ import annotations

import json

import pytest
import torch

from graphmae import decoders, encoders, losses, masking, testing
from graphmae.registry import Registry, arguments_of
from graphmae.runtime.errors import ConfigError

ENCODER_OPTIONS = [
    {},
    {"num_layers": 1},
    {"num_layers": 3, "residual": True},
    {"norm": "batch"},
    {"norm": "layer"},
    {"output": "all"},
    {"activation": "relu"},
    {"plain_output": True},
    {"out_channels": 4},
    {"start": "glorot", "bias": False},
    {"norm_last": True, "inner_norm": False},
]
CASES = [
    (name, options)
    for name in encoders.names()
    for options in ENCODER_OPTIONS
    if options.keys() <= encoders.REGISTRY.options(name).keys()
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_encoder(name: str, options: dict[str, object]) -> None:
    torch.manual_seed(0)
    testing.check_encoder(lambda width: encoders.build(name, in_channels=width, hidden_channels=8, **options))


@pytest.mark.parametrize("name", decoders.names())
def test_decoder(name: str) -> None:
    torch.manual_seed(0)
    testing.check_decoder(lambda width, out: decoders.build(name, in_channels=width, out_channels=out))


@pytest.mark.parametrize("name", losses.names())
def test_loss(name: str) -> None:
    testing.check_loss(lambda: losses.build(name))


@pytest.mark.parametrize("options", [{}, {"replace_rate": 0.3}, {"keep_rate": 0.2}], ids=str)
@pytest.mark.parametrize("name", masking.names())
def test_mask(name: str, options: dict[str, float]) -> None:
    testing.check_mask(lambda: masking.build(name, **options))


@pytest.mark.parametrize(
    "registry", [encoders.REGISTRY, decoders.REGISTRY, losses.REGISTRY, masking.REGISTRY], ids=lambda r: r.kind
)
def test_every_part_is_described_and_can_be_stored(registry: Registry[object]) -> None:
    for name in registry.names():
        assert registry.get(name).__doc__, f"{name} has no docstring"
        supplied = dict.fromkeys(registry.supplied, 8)
        stored = arguments_of(registry.build(name, **supplied))
        assert stored[0] == name
        json.dumps(stored)


@pytest.mark.parametrize("name", encoders.names())
@pytest.mark.parametrize(
    "options",
    [{"dropout": 1.0}, {"norm": "bach"}, {"activation": "prelo"}, {"num_layers": 0}, {"output": "first"}],
    ids=str,
)
def test_encoders_refuse_nonsense(name: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        encoders.build(name, in_channels=4, hidden_channels=8, **options)


def test_the_contract_catches_a_broken_encoder() -> None:
    class Broken(torch.nn.Module):
        def __init__(self, in_channels: int) -> None:
            super().__init__()
            self.in_channels, self.out_channels = in_channels, 3
            self.linear = torch.nn.Linear(in_channels, 4)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return self.linear(x)

    with pytest.raises(AssertionError, match="out_channels"):
        testing.check_encoder(Broken)
