"""From the folder of a run to what the report page shows of it: a `reporting.page.Sheet`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import pretrained
from ..data import REGISTRY, Dataset
from ..data.molecules.assay import known_already
from ..data.molecules.drawing import atoms_as_svg, largest_of
from ..data.naming import node_table
from ..data.open import open_dataset
from ..finetuning import AutomaticPredictor, Committee, Predictor
from ..finetuning.contributions import contributions
from ..reporting import records
from ..reporting.page import Explained, Prediction, Sheet
from ..results import Result
from ..runtime.device import numerics
from ..runtime.errors import ConfigError, DataError, InputError
from ..runtime.untrusted import read_object
from .folder import RunFolder
from .points import points_of

MOST_NODES = 1_000_000  # of which a map can be made; it shows a sample
HIGHEST, FURTHEST = 8, 4  # molecules of which the page shows what their atoms contribute
ROLES = ("id", "source", "target", "weight", "time", "label", "split", "duplicates")
logger = logging.getLogger("graphmae")


def collect(
    folder: RunFolder,
    device: torch.device,
    *,
    root: str | Path | None = None,
    data: Any = None,
    columns: Sequence[str] | None = None,
) -> Sheet:
    """What there is to show of a run, of one pre-training, or of a comparison.

    The data is opened again as the recipe says, or is `data`; where it cannot be had, the page has no map and a note.
    `columns` are those of the user's table to show; None: all, up to 16.
    """
    if folder.kind == "comparison":
        return records.comparison(folder.path)
    result = Result.load(folder.path / "result.json") if folder.kind == "run" else None
    recipe = folder.stored_recipe() or (result.config if result is not None else {})
    seeds = sorted(
        folder.path.glob("seed-*/metrics.jsonl"), key=lambda p: int("0" + "".join(filter(str.isdigit, p.parent.name)))
    )
    curves = [
        records.curve_of(path.parent.name.replace("-", " "), path)
        for path in seeds or [folder.metrics]
        if path.is_file()
    ]
    sheet = Sheet(
        name=folder.path.resolve().name,
        title=records.title_of(recipe),
        facts=records.facts_of(recipe, result, folder.path),
        settings=records.settings_of(recipe, result.recipe if result is not None else ""),
        reasons=records.reasons_of(recipe),
        curves=[curve for curve in curves if curve.epochs],
        machine=records.machine_of(result.to_dict() if result is not None else folder.read_environment()),
    )
    if result is not None:
        scores = records.scores_of(result)
        told = [records.outcome(result, scores)] if scores else []
        sheet = replace(
            sheet, metric=result.metric, scores=scores, tables=[records.score_table(result)], sentences=told
        )
    return _with_model(sheet, folder, recipe, device, root, data, columns)


def _with_model(
    sheet: Sheet,
    folder: RunFolder,
    recipe: Mapping[str, Any],
    device: torch.device,
    root: str | Path | None,
    data: Any,
    columns: Sequence[str] | None,
) -> Sheet:
    """The sheet with everything that needs the model and the data."""
    try:
        where = pretrained.find_checkpoint(folder.path)
        kind = str(read_object(where / "config.json").get("kind", "pretrained"))
        model = pretrained.load(where) if kind == "pretrained" else pretrained.load_predictor(where)
    except InputError as error:
        return replace(sheet, notes=[*sheet.notes, f"There is no map, as there is no model: {error}."])
    try:
        with known_already():
            dataset = _opened(recipe, model.inputs, root, data)
    except (DataError, InputError) as error:
        return replace(sheet, notes=[*sheet.notes, f"There is no map, as the data cannot be had: {error}."])
    count = dict(dataset.summary()).get("nodes", 0)
    if dataset.task == "node" and (dataset.on_disk or count > MOST_NODES):
        large = f"There is no map: of {count:,} nodes, as maps are of graphs in memory with at most {MOST_NODES:,}."
        return replace(sheet, notes=[*sheet.notes, large])
    sheet = replace(sheet, notes=[*sheet.notes, *(f"{dataset.name}: {text}." for text in dataset.remarks)])
    nodes = _node_table(recipe, data)
    with numerics(device):
        if isinstance(model, Predictor | AutomaticPredictor):
            points, spectrum = points_of(
                model.encoder, dataset, device, readout=model.readout.split("+"), nodes=nodes, columns=columns
            )
            committee = pretrained.load_committee(folder.path)
            asked = _asked(committee, dataset, device)
            sheet = replace(
                sheet, predictions=_predictions(committee, *asked[1:]), explained=_explained(committee, dataset, *asked)
            )
        else:
            readout = str(recipe.get("evaluation", {}).get("readout", "mean")).split("+")
            points, spectrum = points_of(
                model.reader, dataset, device, reconstructs=model if hasattr(model, "reconstruct") else None,
                readout=readout, nodes=nodes, columns=columns,
            )  # fmt: skip
    notes = list(sheet.notes)
    if len(list(folder.path.glob("seed-*/config.json"))) > 1:
        notes.append(f"Map and reconstruction are those of {where.name.replace('-', ' ')}.")
    return replace(sheet, points=points, spectrum=spectrum, notes=notes)


def _opened(recipe: Mapping[str, Any], inputs: Mapping[str, Any], root: str | Path | None, data: Any) -> Dataset:
    """The data of a run, treated as the model's was."""
    if data is not None:
        return open_dataset(data, root, _roles(recipe), inputs, quiet=True)
    section = dict(recipe.get("data", {}))
    name = str(section.pop("name", "memory"))
    if wrong := REGISTRY.problems(name, section):
        raise ConfigError(wrong, "data")
    if name == "tables":
        edges = section.get("edges", [])
        paths = [*([section["nodes"]] if section.get("nodes") else []), *([edges] if isinstance(edges, str) else edges)]
        return open_dataset(paths, root, _roles(recipe), inputs, quiet=True)
    if name == "file":
        return open_dataset(section.get("path", ""), root, None, inputs, quiet=True)
    return REGISTRY.build(name, root=root, **section)


def _roles(recipe: Mapping[str, Any]) -> dict[str, Any]:
    return {role: recipe.get("data", {}).get(role) for role in ROLES if recipe.get("data", {}).get("name") == "tables"}


def _node_table(recipe: Mapping[str, Any], data: Any) -> Any:
    """The node table of a run, where it has one: a path, or what was handed over."""
    if data is not None:
        return node_table(data)
    section = recipe.get("data", {})
    return section.get({"tables": "nodes", "assay": "path"}.get(str(section.get("name")), "")) or None


def _asked(committee: Committee, dataset: Any, device: torch.device) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions of the test molecules, what was measured [m, T], what the models of all seeds predict [m, T])."""
    test = dataset.split["test"]
    read = committee.featurize([dataset.smiles[i] for i in test])
    test = test[read.rows]
    return test, np.asarray(dataset.scored, dtype="float64")[test], committee.answer(read, device).values


def _predictions(committee: Committee, truth: np.ndarray, answers: np.ndarray) -> list[Prediction]:
    """One entry for every target that was measured of a test molecule."""
    out = []
    for column, name in enumerate(committee.names):
        measured, predicted = truth[:, column], answers[:, column]
        known = ~np.isnan(measured)
        if known.any():
            out.append(
                Prediction(name, committee.kind, measured[known].astype("float64"), predicted[known].astype("float64"))
            )
    return out


def _explained(
    committee: Committee, dataset: Any, test: np.ndarray, truth: np.ndarray, answers: np.ndarray
) -> list[Explained]:
    """Test molecules whose first target is predicted highest, and others that are furthest from what was measured."""
    name, measured, predicted = committee.names[0], truth[:, 0], answers[:, 0]
    known = np.flatnonzero(~np.isnan(measured))
    highest = known[np.argsort(-predicted[known], kind="stable")][:HIGHEST]
    others = np.setdiff1d(known, highest)
    furthest = others[np.argsort(-np.abs(predicted - measured)[others], kind="stable")][:FURTHEST]
    ids, unit = dataset.ids or dataset.smiles, " logits" if committee.kind == "classification" else ""

    def shown(title: str, rows: np.ndarray) -> Explained:
        found = contributions(committee, [dataset.smiles[test[row]] for row in rows])
        return Explained(
            f"{name}: {title}",
            [
                (
                    f"{ids[test[row]]}: measured {measured[row]:.4g}, predicted {predicted[row]:.3g}; "
                    f"darkest atom {largest_of(one.atoms[:, 0]):+.2g}{unit}",
                    atoms_as_svg(one.smiles, one.atoms[:, 0]),
                )
                for row, one in zip(rows, found, strict=True)
                if one is not None
            ],
        )

    groups = [shown("predicted highest", highest), shown("furthest from what was measured", furthest)]
    return [group for group in groups if group.molecules]
