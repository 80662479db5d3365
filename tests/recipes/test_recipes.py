"""Every recipe file is a test: it loads strictly, builds, fits on a screen and carries the published number."""

from __future__ import annotations

import pytest

import graphmae as gm
from graphmae import config, model

PUBLISHED = {
    "node/cora": (84.2, 0.4, "accuracy"),
    "node/citeseer": (73.4, 0.4, "accuracy"),
    "node/pubmed": (81.1, 0.4, "accuracy"),
    "node/ogbn-arxiv": (71.75, 0.17, "accuracy"),
    "node/ppi": (74.5, 0.29, "micro-f1"),
    "node/reddit": (96.01, 0.08, "accuracy"),
}
# layers, hidden, heads, norm, residual, rate, replace, drop_edge, gamma, lr, wd, epochs, probe lr / wd / epochs
SETTINGS = {
    "node/cora": (2, 512, 4, "none", False, 0.5, 0.05, 0, 3, 1e-3, 2e-4, 1500, 0.01, 1e-4, 300),
    "node/citeseer": (2, 512, 2, "none", False, 0.5, 0.10, 0, 1, 1e-3, 2e-5, 300, 0.01, 1e-2, 300),
    "node/pubmed": (2, 1024, 4, "none", False, 0.75, 0, 0, 3, 1e-3, 1e-5, 1000, 0.01, 1e-4, 300),
    "node/ogbn-arxiv": (3, 1024, 4, "layer", False, 0.5, 0, 0.5, 3, 1e-3, 0, 1000, 0.01, 5e-4, 600),
    "node/ppi": (3, 1024, 4, "layer", True, 0.5, 0.1, 0, 3, 1e-4, 0, 1000, 0.005, 0, 2000),
    "node/reddit": (4, 512, 2, "layer", True, 0.75, 0.15, 0.5, 3, 1e-3, 2e-4, 500, 0.005, 0, 500),
}


@pytest.mark.parametrize("name", gm.recipes())
def test_it_loads_builds_and_fits_on_a_screen(name: str) -> None:
    recipe = gm.recipe(name)
    assert recipe.about.title
    network = model.build(recipe.override("encoder.hidden_channels=8"), in_channels=5)
    assert network.encoder.in_channels == 5
    assert len(config.find(name)[0].read_text().splitlines()) <= 70


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_numbers_and_settings(name: str) -> None:
    recipe = gm.recipe(name)
    assert recipe.published is not None
    assert (recipe.published.mean, recipe.published.std, recipe.published.metric) == PUBLISHED[name]
    encoder, mask, train, probe = recipe.encoder.options, recipe.mask.options, recipe.train, recipe.evaluation
    found = (
        *(encoder[key] for key in ("num_layers", "hidden_channels", "heads", "norm", "residual")),
        mask["rate"], mask["replace_rate"], recipe.drop_edge, recipe.loss.options["gamma"],
        train.lr, train.weight_decay, train.epochs, probe.lr, probe.weight_decay, probe.epochs,
    )  # fmt: skip
    assert found == SETTINGS[name]
    assert (encoder["dropout"], encoder["attention_dropout"], encoder["activation"]) == (0.2, 0.1, "prelu")
    assert (recipe.encoder.name, recipe.decoder.name, recipe.remask, train.schedule) == ("gat", "gat", "zero", "cosine")
    assert probe.rule == "last"


def test_nothing_published_is_missing() -> None:
    assert {name for name in gm.recipes() if name.startswith("node/")} == set(PUBLISHED)


MOLECULES = {
    "bbbp": (72.0, 0.6), "tox21": (75.5, 0.6), "toxcast": (64.1, 0.3), "sider": (60.3, 1.1),
    "clintox": (82.3, 1.2), "muv": (76.3, 2.4), "hiv": (77.2, 1.0), "bace": (83.1, 0.9),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MOLECULES))
def test_the_published_numbers_and_settings_of_molecules(name: str) -> None:
    recipe = gm.recipe(f"molecule/{name}")
    assert recipe.published is not None and recipe.finetune is not None
    assert (recipe.published.mean, recipe.published.std, recipe.published.metric) == (*MOLECULES[name], "roc-auc")
    tuned = recipe.finetune
    steps = {"muv": (50, 128), "hiv": (100, 128)}.get(name, (100, 32))  # the large ones: their notes say so
    assert (tuned.epochs, tuned.batch_size) == steps and ("published 32" in recipe.about.notes) == (steps[1] != 32)
    assert (tuned.lr, tuned.dropout, tuned.readout) == (1e-3, 0.5, "mean")
    assert tuned.checkpoint == "molecule-zinc"
    assert (tuned.mode, tuned.rule, tuned.schedule) == ("full", "last", "step" if name == "bace" else "constant")
    assert (recipe.encoder.options["num_layers"], recipe.encoder.options["hidden_channels"]) == (5, 300)
    assert recipe.data.options == {"split": "scaffold"}
