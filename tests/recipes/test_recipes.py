"""Every recipe file is a test: it loads strictly, builds, fits on a screen and carries the published number."""

from __future__ import annotations

import pytest

import graphmae as gm
from graphmae import config, methods

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
    network = methods.build(recipe.override("encoder.hidden_channels=8"), in_channels=5)
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
        mask["rate"], mask["replace_rate"], recipe.method.options["drop_edge"], recipe.loss.options["gamma"],
        train.lr, train.weight_decay, train.epochs, probe.lr, probe.weight_decay, probe.epochs,
    )  # fmt: skip
    assert found == SETTINGS[name]
    assert (encoder["dropout"], encoder["attention_dropout"], encoder["activation"]) == (0.2, 0.1, "prelu")
    assert (recipe.encoder.name, recipe.decoder.name, recipe.method.options["remask"], train.schedule) == (
        "gat",
        "gat",
        "zero",
        "cosine",
    )
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


# layers, hidden, norm, activation, rate, replace, gamma, lr, epochs, schedule, readout, batch; published mean ± std
GRAPHS = {
    "imdb-binary": (2, 512, "batch", "prelu", 0.5, 0.0, 1, 1.5e-4, 60, "constant", "mean", 32, 75.52, 0.66),
    "imdb-multi": (3, 512, "batch", "prelu", 0.5, 0.0, 1, 1.5e-4, 50, "constant", "mean", 32, 51.63, 0.52),
    "proteins": (3, 512, "batch", "prelu", 0.5, 0.0, 1, 1.5e-4, 100, "constant", "max", 32, 75.30, 0.39),
    "collab": (2, 256, "batch", "relu", 0.75, 0.0, 1, 1.5e-4, 20, "cosine", "max", 32, 80.32, 0.46),
    "mutag": (5, 32, "batch", "prelu", 0.75, 0.1, 2, 5e-4, 20, "constant", "sum", 64, 88.19, 1.26),
    "reddit-binary": (2, 512, "layer", "prelu", 0.75, 0.1, 2, 1.5e-4, 100, "cosine", "sum", 8, 88.01, 0.19),
    "nci1": (2, 512, "batch", "prelu", 0.25, 0.1, 2, 1e-3, 300, "cosine", "sum", 16, 80.40, 0.30),
}


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_graph_recipes_are_strictly_as_published(name: str) -> None:
    recipe = gm.recipe(f"graph/{name}")
    encoder, mask, train, published = recipe.encoder.options, recipe.mask.options, recipe.train, recipe.published
    assert published is not None
    found = (
        *(encoder[key] for key in ("num_layers", "hidden_channels", "norm", "activation")),
        mask["rate"], mask["replace_rate"], recipe.loss.options["gamma"], train.lr, train.epochs, train.schedule,
        recipe.evaluation.readout, train.batch_size, published.mean, published.std,
    )  # fmt: skip
    assert found == GRAPHS[name]
    assert (recipe.encoder.name, recipe.decoder.name, *recipe.method.options.values()) == ("gin", "gin", "zero", 0.0)
    assert encoder["dropout"] == recipe.decoder.options["dropout"] == 0.2
    assert encoder.get("output", "last") == "last" and not recipe.evaluation.standardize
    assert mask["per_graph"] is False and mask.get("keep_rate", 0.0) == 0.0 and train.weight_decay == 0
    assert recipe.evaluation.rule == "folds"


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_what_was_changed_is_in_the_tuned_recipe_and_is_scored_by_nested_choice(name: str) -> None:
    tuned = gm.recipe(f"graph/{name}-tuned")
    assert tuned.evaluation.rule == "chosen" and tuned.published is None
    assert "inner folds" in tuned.about.notes  # how each change was chosen


ABLATED = {  # full, no mask, no re-mask, MSE, decoders MLP, GCN, GIN, GAT
    "cora": (84.2, 79.7, 82.7, 79.1, 82.2, 81.3, 81.8, 84.2),
    "pubmed": (81.1, 77.9, 80.0, 73.1, 80.4, 79.1, 80.2, 81.1),
    "mutag": (88.19, 82.58, 86.29, 86.30, 87.16, 87.78, 88.19, 86.27),
    "imdb-binary": (75.52, 74.42, 74.42, 74.04, 73.94, 74.54, 75.52, 74.04),
}


@pytest.mark.parametrize("name", sorted(ABLATED))
def test_every_row_of_the_ablation_table_is_a_recipe_with_one_change(name: str) -> None:
    rows = ("no-mask", "no-remask", "mse", "decoder-mlp", "decoder-gcn", "decoder-gin", "decoder-gat")
    base = gm.recipe(f"{'node' if name in ('cora', 'pubmed') else 'graph'}/{name}")
    assert base.published is not None and base.published.mean == ABLATED[name][0]
    for row, mean in zip(rows, ABLATED[name][1:], strict=True):
        if row == f"decoder-{base.decoder.name}":
            continue
        ablated = gm.recipe(f"ablation/{name}-{row}")
        assert ablated.published is not None and (ablated.published.mean, ablated.published.std) == (mean, 0.0)
        sections = ("data", "method", "mask", "encoder", "decoder", "loss", "train")
        changed = {section for section in sections if getattr(ablated, section) != getattr(base, section)}
        assert ablated.method.options["drop_edge"] == base.method.options["drop_edge"]
        expected = {"no-mask": {"mask", "method"}, "no-remask": {"method"}, "mse": {"loss"}}.get(row, {"decoder"})
        assert changed == expected, row


def test_an_extended_recipe_does_not_inherit_the_published_number() -> None:
    assert gm.recipe("ablation/cora-keep").published is None
    assert gm.recipe("node/cora", "mask.rate=0.6").published is None


@pytest.mark.parametrize("name", [n for n in gm.recipes() if n.startswith("supervised/")])
def test_supervised_recipes_have_candidates_that_are_sound(name: str) -> None:
    recipe = gm.recipe(name)
    assert recipe.supervised is not None and recipe.published is not None and "Differs" in recipe.about.notes
    assert recipe.supervised.candidates[0] == ""  # the published settings are among them
    for text in recipe.supervised.candidates:
        methods.check(recipe.override(*text.split()))
