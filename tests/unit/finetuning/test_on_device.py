"""Members as tensors say what members as arrays say; here on the CPU, on a GPU by `benchmarks.chemist_answers`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from graphmae.finetuning.domain import Domain
from graphmae.finetuning.members import SPECS, fit
from graphmae.finetuning.on_device import DeviceMembers, DeviceTrees
from graphmae.finetuning.trees import Trees, of_boosting, of_forest

CPU = torch.device("cpu")


def rows(n: int = 200, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    ecfp = (rng.random((n, 2048)) < 0.03) * rng.integers(1, 4, (n, 2048))
    descriptors = rng.normal(size=(n, 67)).astype(np.float32)
    descriptors[rng.random(descriptors.shape) < 0.02] = np.nan
    return {
        "embedding": rng.normal(size=(n, 12)).astype(np.float32),
        "ecfp": ecfp.astype(np.uint8),
        "descriptors": descriptors,
    }


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_every_member(name: str, kind: str) -> None:
    blocks, new, rng = rows(), rows(50, 1), np.random.default_rng(2)
    y = np.stack([blocks["ecfp"][:, :40].sum(1), rng.normal(size=200)], axis=1).astype(float)
    y = (y > np.median(y, axis=0)).astype(float) if kind == "classification" else y
    y[::7, 1] = np.nan
    member = fit(name, SPECS[name].settings[0], blocks, y, kind, seed=0)  # type: ignore[arg-type]
    tensors = {key: torch.from_numpy(block) for key, block in new.items()}
    found = DeviceMembers([member], None, [], CPU).guesses(tensors)[name]
    assert np.allclose(found, member.predict(new), rtol=1e-4, atol=1e-5)


def test_a_threshold_between_two_floats_is_not_rounded_onto_the_larger() -> None:
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    between = (float(low) + float(high)) / 2 + 1e-9  # nearer to `high`: plain rounding would send it left
    trees = Trees(
        np.array([0, -1, -1], np.int32), np.array([between, 0, 0]), np.array([1, 0, 1], np.int32),
        np.array([2, 0, 0], np.int32), np.zeros(3, np.uint8), np.array([[1.0], [2.0]], np.float32),
        np.zeros(1, np.int32), 1,
    )  # fmt: skip
    x = np.array([[low], [high]])
    assert trees.sums(x).ravel().tolist() == [1.0, 2.0]
    assert DeviceTrees(trees, CPU).sums(torch.from_numpy(x)).flatten().tolist() == [1.0, 2.0]


def test_trees_of_several_depths_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    y = np.nan_to_num(x[:, 0]) * np.nan_to_num(x[:, 1])
    forest = of_forest(RandomForestRegressor(7, random_state=0).fit(x, y))
    boosting = of_boosting(HistGradientBoostingRegressor(max_iter=9).fit(x, y))[0]
    for trees in (forest, boosting):
        assert np.allclose(DeviceTrees(trees, CPU).sums(torch.from_numpy(x)), trees.sums(x), atol=1e-6)


def test_the_nearest_molecules() -> None:
    known, new = rows(), rows(30, 1)
    new["ecfp"][0] = known["ecfp"][5]
    names = tuple(map(str, range(200)))
    domain = Domain.fit(known["ecfp"], known["embedding"], names, names)
    want = domain.nearness(new["ecfp"], new["embedding"])
    found = DeviceMembers([], domain, [], CPU).nearness(torch.from_numpy(new["ecfp"]), new["embedding"])
    assert found.nearest[0] == 5 and np.allclose(found.tanimoto, want.tanimoto, atol=1e-6)
    assert np.allclose(found.cosine, want.cosine, atol=1e-5) and (found.inside == want.inside).all()
