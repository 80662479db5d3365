"""Pre-training: a recipe, or a model of your own parts, on any data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .. import pretrained
from ..config import Recipe, Train
from ..data import Dataset
from ..data.open import is_named, open_dataset, section_of
from ..experiments import auto
from ..experiments import pretrain as pretraining
from ..experiments import select as selecting
from ..experiments.folder import RunFolder
from ..inference.embedding import check_width
from ..methods import Method
from ..runtime.alone import alone
from ..runtime.device import numerics, resolve_device, with_torch_defaults
from ..runtime.errors import InputError
from ..runtime.files import as_path, check_folder, locked
from ..runtime.ranks import check_alone, resumes
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Progress, quiet
from ..training.distributed import Ranks, connect
from ..training.progress import Display
from .reporting import report_of

logger = logging.getLogger("graphmae")
CONTINUED = ("train.epochs=20", "train.lr=3e-4")  # of pre-training that goes on from another model
EPOCHS = 500  # of a model of your own parts


@with_torch_defaults
def pretrain(
    model: Method | Recipe | str | Path,
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
    force: bool = False,
    private: bool = False,
    select: str = "",
    start: str | Path = "",
    report: bool = False,
    progress: bool = True,
) -> Method:
    """Pre-train on `data`, whatever `data.open` takes, and return the model. With `out` it is saved there.

    `model` is a recipe ("auto": chosen by the data, and logged; an id, a file, a `Recipe`), changed by `overrides`;
    or a model of your own parts, which is trained in place with the settings given here (500 epochs). Every node gets
    one self-loop (here and in `embed`). `seed` governs masking and dropout, and of a recipe the weights; those of your
    own model were drawn when you made the parts. With `private` the checkpoint has the words and categories of tables
    as hashes only.

    `select` names a label column ("y" of graphs that are no tables). Settings and views are then chosen by
    cross-validation on the labels a probe may see, those of training and validation; `model.trained_on["selected"]`
    says which and why. Score such a model on other labels, as `evaluate` does.

    With `start`, the folder of a model that was pre-trained on molecules (or "molecule-zinc"), pre-training goes on
    from its weights on molecules of your own, with its parts, for 20 epochs at a smaller rate unless you say so.

    With `report`, `out` gets a page that shows the run (see `report`). Training may stop before the last epoch, where a
    recipe has `train.patience`: `model.trained_on` says when and why.

    With `force`, `resume` goes on although the code that `--import` reads has changed.

    Under `torchrun` every process calls this, each step is divided among them, and rank 0 writes; all return the model.

    >>> model = pretrain("auto", ["nodes.csv", "edges.csv"], out="runs/mine")  # doctest: +SKIP
    """
    if report and out is None:
        raise InputError("a report is written into the run's folder: name one with out")
    used, display = resolve_device(device), Progress() if progress else quiet
    ranks, resume = connect(used), resumes(resume)
    roles = {**(columns or {}), **({"private": True} if private else {})}
    if select:
        roles = _with_label(roles, select, data)
    if isinstance(model, Method):
        if select:
            raise InputError("select chooses settings of a recipe; a model of your own parts has its own")
        if list(overrides):
            raise InputError("overrides change a recipe; a model of your own parts has its settings in the arguments")
        train = Train(
            epochs=epochs or EPOCHS, lr=lr, weight_decay=weight_decay, schedule=schedule, clip_norm=clip_norm,  # type: ignore[arg-type]
            batch_size=batch_size,
        )  # fmt: skip
        trained = _own(model, data, train, out, roles, seed, data_root, used, resume, display, ranks)
        if report and out is not None and ranks.is_first:
            report_of(Path(out), data, data_root=data_root, device=device)
        return trained
    if (lr, weight_decay, schedule, clip_norm, batch_size) != (1e-3, 0.0, "cosine", None, 1):
        raise InputError('a recipe has these settings itself; change them with overrides=["train.lr=…"]')
    changes = [*([f"train.epochs={epochs}"] if epochs is not None else []), *overrides]
    folder = None if out is None else RunFolder(as_path(out, "out"))
    if folder is not None:
        folder.check(resume)
    if start and select:
        raise InputError("--from goes on with the settings of another model, and --select chooses settings: take one")
    if start:
        return _continued(start, data, model, changes, folder, seed, data_root, used, resume, force, display)
    recipe, dataset = auto.recipe_for(data, model, changes, roles, data_root)
    _check_private(dataset, private)
    number = 0 if seed is None else seed
    label, facts = f"{dataset.name}, seed {number}", {}
    if select:
        check_alone("select")
        selected = selecting.select(recipe, dataset, number, used, folder=folder, display=display)
        logger.info("selected by labels: %s", selected.reason)
        recipe, facts = selected.recipe, {"selected": selected.reason}
    trained = pretraining.pretrain_once(
        recipe, dataset, number, used, folder=folder, resume=resume, force=force, display=display, label=label,
        facts=facts, ranks=ranks,
    )  # fmt: skip
    if report and folder is not None and ranks.is_first:
        report_of(folder.path, None if is_named(data) else data, data_root=data_root, device=device)
    ranks.wait()  # until everything is written
    return trained


def _continued(
    start: str | Path,
    data: Any,
    recipe: Recipe | str | Path,
    changes: list[str],
    folder: RunFolder | None,
    seed: int | None,
    data_root: str | Path | None,
    device: torch.device,
    resume: bool,
    force: bool,
    display: Display,
) -> Method:
    """Go on with a model that was pre-trained on molecules; its card keeps what it was trained on before."""
    origin, number = pretrained.load(start), 0 if seed is None else seed
    if origin.inputs.get("features") != "molecule":
        raise InputError(
            f"--from {start}: it was not pre-trained on molecules, and only such models can be gone on with"
        )
    if wrong := [text for text in changes if not text.startswith(("train.", "data."))]:
        raise InputError(f"--from {start}: the parts are those of that model, so {wrong[0]} cannot be changed")
    recipe, dataset = auto.recipe_for(data, recipe, [*CONTINUED, *changes], None, data_root)
    if dataset.treatment.get("features") != "molecule":
        raise InputError(f"{dataset.name} are not molecules, so pre-training cannot go on from {start}")
    parts: dict[str, Any] = {**dict.fromkeys(("decoder", "mask", "loss")), **pretrained.parts_of(origin)}
    recipe = replace(recipe, **parts)
    before = ", ".join(
        f"{key} {value}" for key, value in origin.trained_on.items() if key in ("data", "graphs", "epochs")
    )
    facts = {"started_from": f"{Path(start).name} ({before or 'unknown'})"}
    return pretraining.pretrain_once(
        recipe, dataset, number, device, folder=folder, resume=resume, force=force, display=display,
        label=f"{dataset.name}, seed {number}, from {Path(start).name}", facts=facts, start=origin,
    )  # fmt: skip


def _with_label(roles: Mapping[str, Any], select: str, data: Any) -> dict[str, Any]:
    """The columns of tables by their role, with the one that settings are selected by as the label."""
    if roles.get("label", select) not in ("", select):
        raise InputError(f"settings are selected by the label: --label {roles['label']} and --select {select} differ")
    is_table = is_named(data) and section_of(data)["name"] == "tables"
    if not is_table and select != "y":
        raise InputError(f"--select {select} names a column of a table; labels of other graphs are called y")
    return {**roles, "label": select} if is_table else dict(roles)


def _own(
    model: Method,
    data: Any,
    train: Train,
    out: str | Path | None,
    roles: Mapping[str, Any],
    seed: int | None,
    data_root: str | Path | None,
    device: torch.device,
    resume: bool,
    display: Display,
    ranks: Ranks,
) -> Method:
    if problems := train.problems():
        raise InputError("; ".join(problems))
    dataset = open_dataset(data, data_root, roles, model.inputs)
    _check_private(dataset, bool(roles.get("private")))
    folder = None if out is None else RunFolder(as_path(out, "out"))
    check_width(model.encoder, dataset)
    model.inputs, model.trained_on = dict(dataset.treatment), pretraining.facts_of(dataset, train, seed)
    pretraining.check(model, dataset, train, stored=folder is not None)
    writes = folder is not None and ranks.is_first
    if folder is not None and writes and folder.holds_model and not (resume and folder.state.exists()):
        raise InputError(f"{out} already holds a model; choose another out")
    if folder is not None and writes:
        check_folder(folder.path, "a model", folder.holds_model or folder.metrics.is_file())
    randomness = alone() if seed is None else preserved_randomness(check_seeds([seed])[0])
    with randomness, numerics(device), locked(folder.path) if folder is not None and writes else nullcontext():
        pretraining.pretrain(model, dataset, train, device, folder=folder, resume=resume, display=display, ranks=ranks)
        if folder is not None and writes:
            folder.delete_states()
    ranks.wait()
    return model


def _check_private(dataset: Dataset, private: bool) -> None:
    if private and not dataset.treatment.get("private"):
        raise InputError("this graph was made already, with its words: make it with from_tables(…, private=True)")
