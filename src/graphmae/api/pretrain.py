"""Pre-training: a recipe, or a model of your own parts, on any data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from .. import methods, pretrained
from ..config import Recipe, Train
from ..data.open import open_dataset
from ..experiments import auto
from ..experiments import pretrain as pretraining
from ..experiments.folder import RunFolder
from ..inference.embedding import check_width
from ..methods import GraphMAE
from ..runtime.device import numerics, resolve_device
from ..runtime.errors import InputError
from ..runtime.files import locked
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Progress, quiet

EPOCHS = 500  # of a model of your own parts


def pretrain(
    network: GraphMAE | Recipe | str | Path,
    data: Any,
    epochs: int | None = None,
    out: str | Path | None = None,
    *,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    lr: float = 1e-3,
    weight_decay: float = 0.0,
    schedule: str = "cosine",
    clip_norm: float | None = None,
    batch_size: int = 1,
    seed: int | None = 0,
    data_root: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
    progress: bool = True,
) -> GraphMAE:
    """Pre-train on `data`, whatever `data.open` takes, and return the model. With `out` it is saved there.

    `network` is a recipe ("auto": chosen by the data, and logged; an id, a file, a `Recipe`), changed by `overrides`;
    or a model of your own parts, which is trained in place with the settings given here (500 epochs). Every node gets
    one self-loop (here and in `embed`). `seed` governs masking and dropout, and of a recipe the weights; those of your
    own model were drawn when you made the parts.

    >>> model = pretrain("auto", ["nodes.csv", "edges.csv"], out="runs/mine")  # doctest: +SKIP
    """
    if isinstance(network, GraphMAE):
        if list(overrides):
            raise InputError("overrides change a recipe; a model of your own parts has its settings in the arguments")
        train = Train(epochs or EPOCHS, lr, weight_decay, schedule, clip_norm, batch_size=batch_size)  # type: ignore[arg-type]
        return _own(network, data, train, out, columns, seed, data_root, device, resume, progress)
    if (lr, weight_decay, schedule, clip_norm, batch_size) != (1e-3, 0.0, "cosine", None, 1):
        raise InputError('a recipe has these settings itself; change them with overrides=["train.lr=…"]')
    changes = [*([f"train.epochs={epochs}"] if epochs is not None else []), *overrides]
    folder = None if out is None else RunFolder(Path(out))
    if folder is not None and not resume and folder.holds_run:
        raise InputError(f"{out} already holds a run; pass --resume to go on with it or choose another --out")
    recipe, dataset = auto.recipe_for(data, network, changes, columns, data_root)
    place, number = resolve_device(device), 0 if seed is None else seed
    auto.check_memory(dataset, recipe, place)
    label, display = f"{dataset.name}, seed {number}", Progress() if progress else quiet
    return pretraining.pretrain_once(
        recipe, dataset, number, place, folder=folder, resume=resume, display=display, label=label
    )


def _own(
    network: GraphMAE,
    data: Any,
    train: Train,
    out: str | Path | None,
    columns: Mapping[str, str] | None,
    seed: int | None,
    data_root: str | Path | None,
    device: str,
    resume: bool,
    progress: bool,
) -> GraphMAE:
    if problems := train.problems():
        raise InputError("; ".join(problems))
    dataset = open_dataset(data, data_root, columns, network.inputs)
    graphs = dataset.pretrain_graphs()
    check_width(network.encoder, dataset)
    network.inputs = dict(dataset.treatment)
    network.trained_on = pretraining.facts_of(dataset, train, seed)
    methods.rehearse(network)
    pretraining.check_features(network, graphs, dataset.name)
    place, folder = resolve_device(device), None if out is None else RunFolder(Path(out))
    if folder is not None:
        pretrained.describe(network)  # what could not be stored is refused before it is trained
        if folder.holds_model:
            raise InputError(f"{out} already holds a model; choose another out")
    randomness = nullcontext() if seed is None else preserved_randomness(check_seeds([seed])[0])
    with randomness, numerics(place), nullcontext() if folder is None else locked(folder.path):
        pretraining.train(
            network, graphs, train, folder, place, resume=resume, display=Progress() if progress else quiet
        )
        network.eval()
        if folder is not None:
            pretrained.save(network, folder.path)
            folder.state.delete()
    return network
