"""Sparse features, masked inputs and factored predictions compute what their dense forms do."""

from __future__ import annotations

import pytest
import torch

import graphmae as gm
from graphmae.layers import BagRows, Factored, bags_of, keep_columns
from graphmae.losses import ScaledCosineError
from graphmae.masking import RandomNodeMask


def words(n: int = 30, d: int = 60, density: float = 0.04) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(n, d) * (torch.rand(n, d) < density)


@pytest.mark.parametrize("density", [0.04, 0.5])
def test_the_projection_of_a_masked_input_is_the_dense_one(density: float) -> None:
    x, token = words(density=density), torch.randn(60, requires_grad=True)
    weight = torch.randn(7, 60, requires_grad=True)
    draw = RandomNodeMask(0.5, 0.2, 0.2).draw(30)
    seen = draw.rows_of(x, token)
    assert (seen.bags is not None) == (density < 0.05)
    few, whole = seen.project(weight), draw.apply(x, token)[seen.nodes] @ weight.T
    assert torch.allclose(few, whole, atol=1e-5)
    grad = torch.randn_like(few)
    for a, b in zip(
        torch.autograd.grad(few, (weight, token), grad), torch.autograd.grad(whole, (weight, token), grad), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-4)


def test_the_dropout_of_token_rows_has_the_gradients_of_its_own_draw() -> None:
    x, token = words(), torch.randn(60, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, 60, dtype=torch.float64, requires_grad=True)
    seen = RandomNodeMask(0.9).draw(30).rows_of(x.double(), token).dropout(0.4, training=True)

    def project(weight: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)  # the same draw every time
        return type(seen)(seen.x, seen.bags, seen.rows, token, seen.nodes, seen.p).project(weight)

    assert torch.autograd.gradcheck(project, (weight, token))
    many = RandomNodeMask(0.9).draw(4000).rows_of(torch.zeros(4000, 60, dtype=torch.float64), token)
    rows = many.dropout(0.4, training=True).project(weight).detach()[-many.num_tokens :]
    assert torch.allclose(rows.mean(0), (weight @ token).detach(), atol=0.5)


def test_a_factored_prediction_has_the_loss_of_the_written_one() -> None:
    x = words().double()
    bags = bags_of(x)
    assert bags is not None
    rows = torch.tensor([3, 1, 1, 29, 0])
    a, weight = torch.randn(5, 8, dtype=torch.float64), torch.randn(60, 8, dtype=torch.float64)
    a[1] = 0  # a prediction of zeros but for the bias
    inputs = [t.requires_grad_() for t in (a, weight, torch.randn(60, dtype=torch.float64))]
    for bias in (inputs[2], None):
        short = Factored(inputs[0], inputs[1], bias)
        losses = ScaledCosineError(2)(short, BagRows(bags, rows)), ScaledCosineError(2)(short.dense(), x[rows])
        assert torch.allclose(*losses)
        for g, h in zip(*(torch.autograd.grad(loss, inputs, allow_unused=True) for loss in losses), strict=True):
            assert (g is None) == (h is None)
            assert g is None or torch.allclose(g, h, rtol=1e-6)


def test_full_matrices_stay_dense_and_the_answer_is_kept() -> None:
    assert bags_of(torch.rand(5, 5)) is None
    x = words()
    first = bags_of(x)
    assert bags_of(x) is first
    x[0] = 1
    assert bags_of(x) is not first


@pytest.mark.parametrize("density", [0.04, 0.5])
def test_a_decoder_may_reconstruct_the_first_features_only(density: float) -> None:
    x, edge_index = words(density=density), torch.randint(30, (2, 90))
    torch.manual_seed(1)
    model = gm.GraphMAE(gm.encoders.GAT(60, 16, dropout=0, attention_dropout=0), gm.decoders.GAT(16, 40, dropout=0))
    model.decoder.block.conv.attention_dropout = 0.0
    torch.manual_seed(2)
    loss = model(x, edge_index)
    torch.manual_seed(2)
    hidden = model.mask.draw(30)
    code = model.bridge(model.encoder(hidden.apply(x, model.mask_token), edge_index))
    out = model.decoder(code.index_put((hidden.masked,), torch.zeros(16)), edge_index, rows=hidden.masked)
    assert torch.allclose(loss, model.criterion(out, x[hidden.masked, :40]), rtol=1e-5)


def test_hidden_columns_are_hidden_in_the_entries_too() -> None:
    x, kept = words(), torch.rand(60) < 0.5
    out = keep_columns(x, kept)
    assert torch.equal(out, x * kept)
    bags = bags_of(out)
    assert bags is not None
    weight = torch.randn(7, 60)
    assert torch.allclose(bags.times(weight.t()), out @ weight.t(), atol=1e-5)


def test_a_layer_drops_out_words_by_their_entries() -> None:
    """The same distribution as the dense dropout, and every entry drawn anew for every row."""
    torch.manual_seed(0)
    x, loops = words(40, 60), torch.arange(40).expand(2, -1)
    layer = gm.encoders.GCN(60, hidden_channels=8, num_layers=1, dropout=0.5, norm="none", activation="none")
    layer.eval()
    plain = layer(x, loops).detach()
    layer.train()
    drawn = torch.stack([layer(x, loops).detach() for _ in range(2000)])
    assert torch.allclose(drawn.mean(0), plain, atol=0.05)
    weight = layer.blocks[0].conv.weight.detach()
    expected = x.square() @ weight.square().t()  # of a sum of independent x w · {0, 2}: Σ (x w)²
    assert torch.allclose(drawn.var(0), expected, atol=0.1 * float(expected.max()))
