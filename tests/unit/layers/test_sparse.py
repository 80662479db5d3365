from __future__ import annotations

import pytest
import torch

import graphmae as gm
from graphmae.layers import sparse_rows
from graphmae.masking import RandomNodeMask


def words(n: int = 30, d: int = 60) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(n, d) * (torch.rand(n, d) < 0.05)


def test_the_projection_of_masked_entries_is_the_dense_one() -> None:
    x, token = words(), torch.randn(60, requires_grad=True)
    weight = torch.randn(7, 60, requires_grad=True)
    draw = RandomNodeMask(0.5, 0.2, 0.2).draw(30)
    sparse = sparse_rows(x)
    assert sparse is not None
    few = draw.apply_sparse(sparse, token).project(weight)
    whole = draw.apply(x, token) @ weight.T
    assert torch.allclose(few, whole, atol=1e-5)
    grad = torch.randn_like(few)
    for a, b in zip(
        torch.autograd.grad(few, (weight, token), grad), torch.autograd.grad(whole, (weight, token), grad), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-4)


def test_full_matrices_stay_dense_and_the_answer_is_kept() -> None:
    assert sparse_rows(torch.rand(5, 5)) is None
    x = words()
    first = sparse_rows(x)
    assert sparse_rows(x) is first
    x[0] = 1
    assert sparse_rows(x) is not first


@pytest.mark.parametrize("encoder", ["gat", "gcn", "gin"])
def test_a_training_step_agrees_with_the_dense_one(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dropout, and with the same mask, loss and all gradients agree to rounding."""
    recipe = gm.recipe(
        "default", f"encoder.name={encoder}", "encoder.hidden_channels=16", "encoder.dropout=0", "decoder.dropout=0"
    )
    recipe = recipe.override(
        "decoder.attention_dropout=0", *(["encoder.attention_dropout=0"] if encoder == "gat" else [])
    )
    x = words()
    edge_index = torch.randint(30, (2, 90))
    results = []
    for dense in (False, True):
        if dense:
            monkeypatch.setattr("graphmae.model.sparse_rows", lambda x: None)
            monkeypatch.setattr("graphmae.encoders.base.sparse_rows", lambda x: None)
        torch.manual_seed(1)
        model = gm.model.build(recipe, 60)
        torch.manual_seed(2)
        loss = model(x, edge_index)
        loss.backward()
        results.append([loss.detach(), *(p.grad for p in model.parameters()), model.encoder.eval()(x, edge_index)])
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, atol=1e-5, rtol=1e-3)
