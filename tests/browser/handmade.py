"""Sheets with something of everything, and names a stranger may have chosen."""

from __future__ import annotations

import numpy as np

from graphmae.reporting.page import (
    Curve,
    Explained,
    Facet,
    Points,
    Prediction,
    Purity,
    Score,
    Setting,
    Sheet,
    Spectrum,
    Table,
)

HOSTILE = "</script><img src=x onerror=\"document.body.dataset.hacked='1'\">"
# Ethanol as data.molecules.sketches packs it: three atoms with places, two bonds.
ETHANOL = bytes([3, 0, 0, 0, 0, 8, 18, 10, 0, 8, 36, 0, 1, 8, 0, 1, 1, 1, 2, 1])

SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><circle cx='4' cy='4' r='3' fill='#c33'/></svg>"


def points(count: int = 400, hostile: str = HOSTILE, molecules: bool = True) -> Points:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, count)
    places = rng.normal(size=(count, 2)) + 4 * np.stack([np.cos(2 * kinds), np.sin(2 * kinds)], axis=1)
    distance = ((places[:, None] - places[None]) ** 2).sum(2) + np.eye(count) * 1e9
    near = distance.argsort(axis=1)[:, :5]
    names = [hostile, "beta", "gamma"]
    partly = (places[:, ::-1] ** 3).astype(np.float32)
    partly[::7] = np.nan
    return Points(
        what="molecule" if molecules else "node",
        total=count,
        ids=[f"{i} {hostile}".strip() if i % 3 == 0 else f"point-{i}" for i in range(count)],
        projections={"PCA": places.astype(np.float32), "t-SNE": partly},
        facets=[
            Facet(
                f"kind {hostile}".strip(), "category", [None if i % 11 == 0 else names[k] for i, k in enumerate(kinds)]
            ),
            Facet("weight", "number", np.where(np.arange(count) % 13 == 0, np.nan, rng.normal(size=count))),
            Facet("note", "text", [None if i % 2 else f"{hostile} {i}" for i in range(count)]),
        ],
        neighbours=near,
        similarity=np.full(near.shape, 0.9),
        errors=rng.random(count),
        unusual=[(0, 0.9, 2.5), (5, 0.8, None)],
        purity=[Purity("kind", 5, 0.9, 0.33, [(hostile, 130, 0.9, 0.3), ("beta", 130, 0.8, 0.3)])],
        drawings=[ETHANOL] * count if molecules else [],
        symbols=["C", "O"] if molecules else [],
    )


def sheet(name: str = "mine", hostile: str = HOSTILE, molecules: bool = True, rate: str = "0.5") -> Sheet:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200).astype(float)
    values = rng.normal(size=150)
    return Sheet(
        name=f"{name} {hostile}".strip(),
        title=f"GraphMAE on {hostile}",
        metric="accuracy",
        facts=[("data", hostile), ("nodes", "400")],
        settings=[Setting("mask.rate", rate, hostile), Setting("train.lr", "0.001")],
        reasons=[hostile],
        curves=[Curve("seed 0", range(1, 51), {"loss": np.exp(-np.arange(50) / 9).tolist(), "lr": [0.1] * 50})],
        scores=[
            Score("raw features", 61.5, 0.4, "baseline", 3),
            Score(hostile, 72.4, None, "method"),
            Score("published", 73.4, 0.2, "published", 20),
        ],
        tables=[Table("Scores", ["", hostile], [[hostile, "1"]])],
        points=points(molecules=molecules, hostile=hostile),
        spectrum=Spectrum(16, 7.5, [0.5, 0.25, 0.125, 0.125]),
        predictions=[
            Prediction(hostile, "classification", truth, np.clip(0.6 * truth + 0.4 * rng.random(200), 0, 1)),
            Prediction("solubility", "regression", values, values + 0.3 * rng.normal(size=150)),
        ],
        explained=[Explained(hostile, [(f"{hostile}: measured 1", SVG), ("another", SVG)])],
        machine=[("hardware", hostile)],
        notes=[hostile],
    )
