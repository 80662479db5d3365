"""An encoder with a head: missing targets, scales, balance, and what dropout sees."""

from __future__ import annotations

import pytest
import torch

from graphmae import Predictor, encoders
from graphmae.batching import Batch, GraphStore
from graphmae.data.molecules import from_smiles
from graphmae.runtime.errors import ConfigError

pytest.importorskip("rdkit", reason="RDKit is not installed")
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "C"]


def batch() -> Batch:
    graphs, positions = from_smiles(SMILES)
    assert graphs is not None and positions == [0, 1, 2, 3]
    return GraphStore(graphs).take(torch.arange(4))


def predictor(**options: object) -> Predictor:
    torch.manual_seed(0)
    return Predictor(encoders.MoleculeGIN(124, 16, 2, edge_channels=12), ["a", "b"], **options)  # type: ignore[arg-type]


def test_one_row_a_molecule_whatever_its_neighbours() -> None:
    model = predictor().eval()
    whole = model(batch())
    assert whole.shape == (4, 2)
    alone, _ = from_smiles([SMILES[2]])
    assert alone is not None
    single = GraphStore(alone).take(torch.tensor([0]))
    assert torch.allclose(model(single), whole[2:3], atol=1e-5)


def test_missing_targets_have_no_gradient_and_do_not_count() -> None:
    model = predictor()
    out = torch.randn(3, 2, requires_grad=True)
    targets = torch.tensor([[1.0, float("nan")], [0.0, 1.0], [float("nan"), float("nan")]])
    loss = model.loss(out, targets)
    loss.backward()
    assert out.grad is not None
    assert (out.grad != 0).tolist() == [[True, False], [True, True], [False, False]]
    known = torch.nn.functional.binary_cross_entropy_with_logits(out[[0, 1, 1], [0, 0, 1]], torch.tensor([1.0, 0, 1]))
    assert loss.item() == pytest.approx(known.item(), rel=1e-6)
    assert float(model.loss(out, torch.full((3, 2), float("nan"))).detach()) == 0


def test_numbers_come_back_in_their_own_units() -> None:
    model = predictor(kind="regression")
    targets = torch.tensor([[100.0, 1.0], [300.0, 1.0], [float("nan"), 1.0]])
    model.fit_scale(targets)
    assert model.center.tolist() == [200.0, 1.0]
    assert model.scale.tolist() == [100.0, 1.0]  # a constant is not divided by 0
    assert model.answer(torch.ones(1, 2)).tolist() == [[300.0, 2.0]]
    assert float(model.loss(torch.tensor([[-1.0, 0.0], [1.0, 0.0], [5.0, 0.0]]), targets)) == 0


def test_balance_weighs_the_rarer_class_up() -> None:
    model = predictor()
    targets = torch.tensor([[1.0, 1.0]] + [[0.0, 1.0]] * 9)
    model.fit_scale(targets, balance=True)
    assert model.balance.tolist() == pytest.approx([9.0, 0.1])
    assert "balance" not in model.state_dict()


def test_dropout_stands_behind_every_layer_and_only_in_training() -> None:
    model = predictor(dropout=0.5)
    assert [block.dropout for block in model.encoder.blocks] == [0.0, 0.5]
    some = batch()
    model.train()
    assert not torch.equal(model(some), model(some))
    model.eval()
    assert torch.equal(model(some), model(some))
    with pytest.raises(ConfigError, match="dropout"):
        predictor(dropout=1.0)


def test_several_readouts_stand_side_by_side() -> None:
    model = predictor(readout="mean+max").eval()
    assert model.head.in_features == 32
    assert model(batch()).shape == (4, 2)
