"""Weights under the published names give the embeddings the published equations give."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import graphmae as gm
from graphmae.pretrained import from_published
from graphmae.runtime.errors import InputError

NODES, WIDTH, HEADS, FEATURES = 12, 8, 2, 5


@pytest.fixture
def graph() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    edges = torch.cat([torch.randint(NODES, (2, 30)), torch.arange(NODES).expand(2, -1)], 1).unique(dim=1)
    return torch.randn(NODES, FEATURES), edges


def dense(edges: Tensor) -> Tensor:
    out = torch.zeros(NODES, NODES)
    out[edges[1], edges[0]] = 1  # receiver, sender
    return out


def gat_weights(names: dict[str, str], shared_activation: bool) -> dict[str, Tensor]:
    torch.manual_seed(1)
    weights = {"enc_mask_token": torch.randn(1, FEATURES), "encoder_to_decoder.weight": torch.randn(WIDTH, WIDTH)}
    widths = (
        ("encoder.gat_layers.0.", FEATURES, HEADS, WIDTH // HEADS),
        ("encoder.gat_layers.1.", WIDTH, HEADS, WIDTH // HEADS),
        ("decoder.gat_layers.0.", WIDTH, 1, FEATURES),
    )
    for prefix, given, heads, channels in widths:
        weights[prefix + names["weight"]] = torch.randn(heads * channels, given)
        for key in ("sender", "receiver"):
            weights[prefix + names[key]] = torch.randn(1, heads, channels)
        weights[prefix + "bias"] = torch.randn(heads * channels)
        if prefix.startswith("encoder") and not shared_activation:
            weights[prefix + "activation.weight"] = torch.tensor([0.1 + int(prefix[-2])])
    if shared_activation:
        weights |= {
            "encoder.activation.weight": torch.tensor([0.1]),
            "encoder.last_activation.weight": torch.tensor([1.1]),
        }
    return weights


DGL = {"weight": "fc.weight", "sender": "attn_l", "receiver": "attn_r"}
PYG = {"weight": "lin_src.weight", "sender": "att_src", "receiver": "att_dst"}


@pytest.mark.parametrize(("names", "shared"), [(DGL, False), (PYG, False), (PYG, True)])
def test_gat(names: dict[str, str], shared: bool, graph: tuple[Tensor, Tensor], tmp_path: Path) -> None:
    weights, (x, edges) = gat_weights(names, shared), graph
    torch.save(weights, tmp_path / "checkpoint.pt")
    model = from_published(tmp_path / "checkpoint.pt")
    h = x
    for number, slope in enumerate((0.1, 1.1)):
        prefix = f"encoder.gat_layers.{number}."
        z = (h @ weights[prefix + names["weight"]].T).view(NODES, HEADS, -1)
        score = [(z * weights[prefix + names[key]]).sum(-1) for key in ("sender", "receiver")]
        logits = F.leaky_relu(score[0].unsqueeze(0) + score[1].unsqueeze(1), 0.2)  # [receiver, sender, head]
        alpha = logits.masked_fill(dense(edges).unsqueeze(-1) == 0, -math.inf).softmax(1)
        out = torch.einsum("rsh,shc->rhc", alpha, z).flatten(1) + weights[prefix + "bias"]
        h = F.prelu(out, torch.tensor([slope]))
    with torch.no_grad():
        assert torch.allclose(model.encoder(x, edges), h, atol=1e-5)
    assert torch.equal(model.mask_token, weights["enc_mask_token"][0])
    model.save_pretrained(tmp_path / "mine")
    assert torch.equal(gm.load(tmp_path / "mine").bridge.weight, weights["encoder_to_decoder.weight"])


def test_gin_with_biases_before_batch_norms(graph: tuple[Tensor, Tensor], tmp_path: Path) -> None:
    torch.manual_seed(2)
    x, edges = graph
    weights: dict[str, Tensor] = {"enc_mask_token": torch.zeros(1, FEATURES)}
    weights["encoder_to_decoder.weight"] = torch.randn(WIDTH, WIDTH)

    def norm(prefix: str) -> None:
        weights.update({prefix + "weight": torch.rand(WIDTH), prefix + "bias": torch.randn(WIDTH)})
        weights.update({prefix + "running_mean": torch.randn(WIDTH), prefix + "running_var": torch.rand(WIDTH) + 0.5})
        weights[prefix + "num_batches_tracked"] = torch.tensor(3)

    def mlp(prefix: str, given: int, out: int) -> None:
        weights.update(
            {prefix + "linears.0.weight": torch.randn(WIDTH, given), prefix + "linears.0.bias": torch.randn(WIDTH)}
        )
        weights.update(
            {prefix + "linears.1.weight": torch.randn(out, WIDTH), prefix + "linears.1.bias": torch.randn(out)}
        )
        norm(prefix + "norms.0.")
        weights[prefix + "activations.0.weight"] = torch.tensor([0.3])

    for number, given in enumerate((FEATURES, WIDTH)):
        mlp(f"encoder.layers.{number}.apply_func.mlp.", given, WIDTH)
        norm(f"encoder.layers.{number}.apply_func.norm.")
        weights[f"encoder.layers.{number}.apply_func.act.weight"] = torch.tensor([0.2])
        weights[f"encoder.layers.{number}.eps"] = torch.zeros(1)
    mlp("decoder.layers.0.apply_func.", WIDTH, FEATURES)
    torch.save(weights, tmp_path / "checkpoint.pt")
    model = from_published(tmp_path / "checkpoint.pt")

    def normed(h: Tensor, prefix: str) -> Tensor:
        mean, var = weights[prefix + "running_mean"], weights[prefix + "running_var"]
        return F.batch_norm(h, mean, var, weights[prefix + "weight"], weights[prefix + "bias"])

    h = x
    for number in range(2):
        outer = f"encoder.layers.{number}.apply_func."
        inner = outer + "mlp."
        h = h + dense(edges) @ h
        h = F.prelu(
            normed(
                F.linear(h, weights[inner + "linears.0.weight"], weights[inner + "linears.0.bias"]), inner + "norms.0."
            ),
            torch.tensor([0.3]),
        )
        h = F.linear(h, weights[inner + "linears.1.weight"], weights[inner + "linears.1.bias"])
        h = F.prelu(normed(h, outer + "norm."), torch.tensor([0.2]))
    with torch.no_grad():
        assert torch.allclose(model.encoder(x, edges), h, rtol=1e-4, atol=1e-4)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        from_published(tmp_path / "none.pt")
    torch.save({"a": torch.ones(1)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="does not look like"):
        from_published(tmp_path / "other.pt")
    torch.save({"a": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(InputError, match="not read"):
        from_published(tmp_path / "evil.pt")
    whole = gat_weights(DGL, False)
    del whole["encoder.gat_layers.1.attn_r"]
    torch.save(whole, tmp_path / "part.pt")
    with pytest.raises(InputError, match="attn_r"):
        from_published(tmp_path / "part.pt")
