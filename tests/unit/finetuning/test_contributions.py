"""Which atoms a prediction comes from: an assay made of one functional group has an answer that is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphmae import encoders
from graphmae.batching import GraphStore
from graphmae.data.molecules import from_smiles
from graphmae.data.molecules.featurized import counts_without, featurize
from graphmae.finetuning import AutomaticPredictor, Committee, members
from graphmae.finetuning.calibration import MOST, Platt, logit
from graphmae.finetuning.contributions import _embedded, _masked_atoms, contributions

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed")
RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "C1CCNCC1", "c1ccc2ccccc2c1"]
TAILS = ["OC(=O)", "OC(=O)C", "O", "CO", "CC(=O)", "COC(=O)", "NC(=O)", "N", "F", "N#C"]
ACID = Chem.MolFromSmarts("C(=O)[OX2H1]")


def encoder() -> torch.nn.Module:
    torch.manual_seed(0)
    return encoders.MoleculeGIN(124, 16, 2, edge_channels=12, mask_embedding=True).eval()


def predictor(member: str) -> AutomaticPredictor:
    """Knows acids by one member, so surely that its probabilities are at their limit."""
    texts = [f"{tail}{'C' * chain}{ring}" for ring in RINGS for chain in (1, 2) for tail in TAILS]
    y = np.array([[float(Chem.MolFromSmiles(text).HasSubstructMatch(ACID))] for text in texts])
    found = featurize(texts)
    blocks = {"ecfp": found.counts, "descriptors": found.descriptors}
    fitted = members.fit(member, members.SPECS[member].settings[-1], blocks, y, "classification", 0)
    certain = Platt(np.array([30.0]), np.array([30.0 * -float(logit(np.array([y.mean()]))[0])]))
    return AutomaticPredictor(
        ("acid",), "classification", "mean", {}, encoder(), [], [fitted], {member: 1.0},
        {member: Platt(np.ones(1), np.zeros(1))}, certain,
    )  # fmt: skip


@pytest.mark.parametrize("member", ["ecfp-linear", "ecfp-kernel", "ecfp-forest"])
def test_the_atoms_of_the_group_come_before_all_others(member: str) -> None:
    model = predictor(member)
    for text in ("OC(=O)CCc1ccccc1F", "CC(CC(=O)O)c1ccncc1", "FCC1CCCCC1C(=O)O"):
        (found,) = contributions(Committee((model,)), [text])
        assert found is not None
        group = set(Chem.MolFromSmiles(text).GetSubstructMatch(ACID))
        assert set(np.argsort(-found.atoms[:, 0])[:3].tolist()) == group
        assert len(np.unique(found.atoms[:, 0].round(6))) > 3  # nothing was cut off at the limit of logits
    assert found.atoms.max() > 2 * MOST


def test_which_atoms_are_masked_and_what_is_left_of_fingerprints() -> None:
    made = Chem.MolFromSmiles("CCO")
    masked = _masked_atoms(made)
    assert masked.astype(int).tolist() == [
        [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0], [1, 0, 1],
    ]  # fmt: skip
    counts = counts_without(made, masked)
    assert np.array_equal(counts[0], featurize(["CCO"]).counts[0])
    assert counts.sum(1).tolist() == [6, 3, 2, 3, 3, 6, 3, 1, 2, 1]  # groups of radius 0 and 1 around each atom


def test_masked_atoms_are_not_read_out() -> None:
    graphs, _ = from_smiles(["CCO", "CCO"])
    assert graphs is not None
    network, token = encoder(), torch.ones(16)
    masked = np.array([[False, False, False], [False, False, True]])
    with torch.no_grad():
        found = _embedded(network, graphs, masked, "mean+max", token)
        batch = GraphStore(graphs).take(torch.arange(2))
        hidden = network(batch.x, batch.edges(network), mask=lambda e: e.index_put((torch.tensor([5]),), token))
    assert torch.allclose(found[0], torch.cat([hidden[:3].mean(0), hidden[:3].max(0).values]), atol=1e-6)
    assert torch.allclose(found[1], torch.cat([hidden[3:5].mean(0), hidden[3:5].max(0).values]), atol=1e-6)
