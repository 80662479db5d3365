"""What a predictor reads of molecules: fingerprints, descriptors, nearest neighbours, equal surroundings."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphmae import encoders, kernels
from graphmae.batching import GraphStore
from graphmae.data.molecules import from_smiles
from graphmae.data.molecules.descriptors import WIDTH
from graphmae.data.molecules.environments import environments
from graphmae.data.molecules.featurized import featurize
from graphmae.data.molecules.fingerprints import ecfp
from graphmae.data.molecules.neighbours import TanimotoIndex
from graphmae.data.molecules.standardize import standardize, standardized
from graphmae.inference.molecules import embed_molecules

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed")
SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "C/C=C/C#N",
    "c1ccc2[nH]ccc2c1",
    "CCO",
    "CCN(CC)CC",
    "[Na+].[Cl-]",
]


def test_every_string_is_parsed_once_and_bad_ones_are_left_out() -> None:
    found = featurize([*SMILES[:3], "C(C", "", *SMILES[3:]])
    assert found.rows.tolist() == [0, 1, 2, 5, 6, 7, 8]
    assert found.smiles == SMILES and len(found.graphs) == len(SMILES)
    assert np.array_equal(np.packbits(found.counts > 0, axis=1), ecfp(SMILES))  # the bits of the published baseline
    assert found.counts[4].sum() == 6  # CCO: three atoms alone, and three with what is around them
    weight = found.descriptors[:, 0]
    assert weight[4] == pytest.approx(46.04, abs=0.01) and np.isfinite(found.descriptors[:6]).all()
    nothing = featurize(["x", ""])
    assert len(nothing) == 0 and nothing.graphs is None and nothing.descriptors.shape == (0, WIDTH)
    assert featurize(SMILES, with_descriptors=False).descriptors.shape == (7, 0)


@pytest.mark.parametrize(
    "text",
    ["[H][C@@](N)(C)C(=O)O", "[H]C([H])([H])[C@@H](N)C(=O)O", "[H]O[C@H](F)Cl", "[H][H]", "C[C@@H](O)[2H]"],
)
def test_hydrogens_that_are_written_do_not_move_the_stereo_of_others(text: str) -> None:
    graphs, _ = from_smiles([text])
    found = featurize([text, "CCO"]).graphs
    assert graphs is not None and found is not None
    assert torch.equal(found.x[: len(graphs.x)], graphs.x)


def test_neighbours_are_those_of_rdkit() -> None:
    from rdkit import DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [make.GetFingerprint(Chem.MolFromSmiles(text)) for text in SMILES]
    wanted = np.array([DataStructs.BulkTanimotoSimilarity(one, bits) for one in bits])
    counts = featurize(SMILES).counts
    index = TanimotoIndex.of(counts)
    assert np.allclose(index.similarities(counts), wanted, atol=1e-6)
    best, similarity = index.nearest(counts, np.arange(len(SMILES)))
    np.fill_diagonal(wanted, -1)
    assert np.allclose(similarity, wanted.max(axis=1), atol=1e-6)
    assert (wanted[np.arange(len(SMILES)), best] == wanted.max(axis=1)).all()


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_equal_surroundings_are_computed_once_and_equal_the_encoder(norm: str) -> None:
    torch.manual_seed(0)
    graphs, _ = from_smiles([*SMILES, *SMILES[::-1], "CCCCCCCCO", "CCCCCCCCN"])
    encoder = encoders.MoleculeGIN(124, 24, 3, edge_channels=12, norm=norm).train()
    store = GraphStore(graphs)
    batch = store.take(torch.arange(len(graphs)))
    for _ in range(3):  # running means that are not zero
        encoder(batch.x, batch.edges(encoder))
    encoder.eval()
    with torch.no_grad():
        wanted = kernels.pool(encoder(batch.x, batch.edges(encoder)), batch.pointer, "mean")
    found = environments(graphs, 3)
    assert [len(layer.begins) for layer in found.layers] == sorted(len(layer.begins) for layer in found.layers)
    assert len(found.layers[-2].begins) < len(graphs.x) / 1.8 and len(found.layers[-1].begins) == len(graphs.x)
    (rows,) = embed_molecules([encoder], graphs, "mean", torch.device("cpu"))
    assert torch.allclose(rows, wanted, atol=1e-5)
    several = embed_molecules([encoder, encoder], graphs, "mean+max+sum", torch.device("cpu"))
    assert several[1].shape == (len(graphs), 72) and torch.allclose(several[1][:, :24], wanted, atol=1e-5)
    residual = encoders.MoleculeGIN(124, 24, 2, edge_channels=12, residual=True).eval()
    assert not residual.groups_atoms
    assert embed_molecules([residual], graphs, "mean", torch.device("cpu"))[0].shape == (len(graphs), 24)


def test_stereo_alone_is_written_canonically_as_all_steps_of_standardising_would() -> None:
    texts = [
        "C[C@H](N)C(=O)O",
        "N[C@@H](C)C(=O)O",
        "C/C=C/C#N",
        "F/C(Cl)=C\\Br",
        "CC[S@](=O)C",
        "O=C1C[C@@H]2CC[C@H]1C2",
    ]
    assert [standardized(text) for text in texts] == [standardize(text).smiles for text in texts]
    assert standardized("C[C@H](N)C(=O)O") == standardized("[C@@H](C)(N)C(=O)O")  # one molecule, two orders
    assert standardized("C[C@H](") is None


IONS = [
    "C[NH3+]",
    "CC(=O)[O-]",
    "C[NH+](C)CC(=O)[O-]",
    "NC(=[NH2+])c1ccc(cc1)[N+](=O)[O-]",
    "C[NH2+]C[C@H](O)c1ccccc1",
    "c1cc[nH+]cc1",
    "c1nn[n-]n1",
    "CS(=O)(=O)[N-]c1ccccc1",
    "O=[N+]([O-])c1ccc([O-])cc1",
    "C[N+](C)(C)CC(=O)[O-]",
    "C[n+]1ccccc1",
    "CC[C@]1(C)NN(c2ccccc2)C([S-])=[NH+]1",
    "C[S-].[Na+]",
    "CC(=O)[O-].C[NH3+]",
    "[O-][n+]1ccccc1",
    "C[NH3+]C",
    "[NH4+]",
]


@pytest.mark.parametrize("text", IONS)
def test_charges_are_taken_off_quickly_as_by_all_steps(text: str) -> None:
    found, want = standardized(text), standardize(text).smiles
    canonical = None if found is None else Chem.MolToSmiles(Chem.MolFromSmiles(found))
    assert canonical == want
