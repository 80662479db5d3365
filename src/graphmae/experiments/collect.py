"""From the folder of a run to what the report page shows of it: a `reporting.page.Sheet`."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .. import config, pretrained
from ..data import REGISTRY, Dataset
from ..data.open import open_dataset
from ..finetuning import Predictor, predict_graphs
from ..reporting.contest import GROUPS, Contest
from ..reporting.page import Curve, Prediction, Score, Setting, Sheet, Table
from ..results import METHOD_LABELS, Result, interval
from ..runtime.device import numerics
from ..runtime.errors import DataError, GraphMAEError, InputError
from ..runtime.untrusted import read_limited, read_object
from .folder import RunFolder
from .points import points_of

MOST_METRICS = 1 << 27  # bytes
ROLES = ("id", "source", "target", "weight", "time", "label", "split")
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
        return _comparison(folder)
    result = Result.load(folder.path / "result.json") if folder.kind == "run" else None
    recipe = folder.stored_recipe() or (result.config if result is not None else {})
    seeds = sorted(folder.path.glob("seed-*/metrics.jsonl"), key=lambda p: int("0" + "".join(filter(str.isdigit, p.parent.name))))
    curves = [_curve(path.parent.name.replace("-", " "), path) for path in seeds or [folder.metrics] if path.is_file()]
    sheet = Sheet(
        name=folder.path.resolve().name,
        title=_title(recipe),
        facts=_facts(recipe, result, folder),
        settings=settings_of(recipe, result.recipe if result is not None else ""),
        reasons=str(recipe.get("about", {}).get("notes", "")).strip().splitlines(),
        curves=[curve for curve in curves if curve.epochs],
        machine=_machine(result.to_dict() if result is not None else folder.read_environment()),
    )
    if result is not None:
        sheet = replace(sheet, metric=result.metric, scores=_scores(result), tables=[_score_table(result)])
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
        model = pretrained.load_predictor(where) if kind == "predictor" else pretrained.load(where)
    except InputError as error:
        return replace(sheet, notes=[*sheet.notes, f"There is no map, as there is no model: {error}."])
    try:
        dataset = _opened(recipe, model.inputs, root, data)
    except (DataError, InputError) as error:
        return replace(sheet, notes=[*sheet.notes, f"There is no map, as the data cannot be had: {error}."])
    nodes = _node_table(recipe, data)
    with numerics(device):
        if isinstance(model, Predictor):
            points, spectrum = points_of(
                model.encoder, dataset, device, readout=model.readout.split("+"), columns=columns
            )
            sheet = replace(sheet, predictions=_predictions(model, dataset, device))
        else:
            readout = str(recipe.get("evaluation", {}).get("readout", "mean")).split("+")
            points, spectrum = points_of(
                model.reader, dataset, device, reconstructs=model if hasattr(model, "reconstruct") else None,
                readout=readout, nodes=nodes, columns=columns,
            )  # fmt: skip
    notes = list(sheet.notes)
    if len(list(folder.path.glob("seed-*/config.json"))) > 1:
        notes.append(f"Map, reconstruction and predictions are those of {where.name.replace('-', ' ')}.")
    return replace(sheet, points=points, spectrum=spectrum, notes=notes)


def _opened(recipe: Mapping[str, Any], inputs: Mapping[str, Any], root: str | Path | None, data: Any) -> Dataset:
    """The data of a run, treated as the model's was."""
    if data is not None:
        return open_dataset(data, root, _roles(recipe), inputs, quiet=True)
    section = dict(recipe.get("data", {}))
    name = str(section.pop("name", "memory"))
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
        pair = isinstance(data, list | tuple) and len(data) > 1
        is_table = pair and (isinstance(data[0], str | Path | dict) or hasattr(data[0], "columns"))
        return data[0] if is_table else None
    section = recipe.get("data", {})
    return section.get("nodes") or None if section.get("name") == "tables" else None


def _predictions(model: Predictor, dataset: Any, device: torch.device) -> list[Prediction]:
    """Of the test molecules, one entry for every target that was measured there."""
    answers = predict_graphs(model, dataset.graphs(), device).numpy()
    test, out = dataset.split["test"], []
    for column, name in enumerate(model.names):
        measured, predicted = dataset.scored[test, column], answers[test, column]
        known = ~torch.from_numpy(measured).isnan().numpy()
        if known.any():
            out.append(Prediction(name, model.kind, measured[known].astype("float64"), predicted[known].astype("float64")))
    return out


def _title(recipe: Mapping[str, Any]) -> str:
    method = str(recipe.get("method", {}).get("name", "graphmae"))
    data = recipe.get("data", {})
    on = Path(str(data.get("nodes") or data.get("path") or data.get("name") or "?")).name
    does = "fine-tuned on" if recipe.get("finetune") else "on"
    if recipe.get("supervised"):
        return f"Supervised {recipe.get('encoder', {}).get('name', 'encoder')} on {on}"
    return f"{METHOD_LABELS.get(method, method)} {does} {on}"


def _facts(recipe: Mapping[str, Any], result: Result | None, folder: RunFolder) -> list[tuple[str, str]]:
    method = str(recipe.get("method", {}).get("name", "graphmae"))
    facts = [("method", METHOD_LABELS.get(method, method))]
    if title := recipe.get("about", {}).get("title"):
        facts.append(("experiment", str(title)))
    trained = dict(result.data) if result is not None else {}
    path = folder.path / "config.json"
    if not trained and path.is_file():
        trained = dict(read_object(path).get("trained_on", {}))
    for key, value in trained.items():
        label = {"name": "data", "ended": "training", "selected": "selected by labels"}.get(key, key.replace("_", " "))
        if not isinstance(value, dict):
            facts.append((label, f"{value:,}" if isinstance(value, int) and key != "seed" else str(value)))
    if result is not None:
        facts.append(("seeds", str(len(result.seeds))))
        if result.published:
            source = result.published.get("source", "")
            facts.append(("published figure", f"{result.published['mean']:g} ± {result.published.get('std', 0):g} ({source})"))
    return facts


def settings_of(recipe: Mapping[str, Any], name: str = "") -> list[Setting]:
    """Every key of a recipe that is set, and where its value is from."""
    base: Mapping[str, Any] = {}
    if name in config.names():
        base = config.load(name).to_dict()
    out = []
    for section, values in recipe.items():
        if section in ("about", "published") or not isinstance(values, Mapping):
            continue
        for key, value in values.items():
            if value is None or value == "" or value == []:
                continue
            before = base.get(section, {}).get(key)
            why = ""
            if base:
                same = before == value or (isinstance(before, list) and before == ["all"])
                why = f"recipe {name}" if same else f"changed: recipe {name} has {'none' if before is None else _text(before)}"
            out.append(Setting(f"{section}.{key}", _text(value), why))
    return out


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _curve(name: str, path: Path) -> Curve:
    """One line per epoch; a line that was cut off, or is not of this kind, ends it."""
    epochs, values = list[int](), dict[str, list[float]]()
    for line in read_limited(path, MOST_METRICS).decode("utf-8", "replace").splitlines():
        try:
            found = json.loads(line)
            epoch = int(found["epoch"])
            numbers = {key: float(found[key]) for key in ("loss", "lr")}
        except (ValueError, KeyError, TypeError, RecursionError):
            break
        epochs.append(epoch)
        for key, value in numbers.items():
            values.setdefault(key, []).append(value if math.isfinite(value) else float("nan"))
    return Curve(name, epochs, dict(values))


def _scores(result: Result) -> list[Score]:
    out = []
    for row in result.rows():
        if scores := result.column(row, result.rule):
            kind = "method" if row == result.row else "baseline"
            width = interval(scores) if len(scores) > 1 else None
            out.append(Score(result.label(row), sum(scores) / len(scores), width, kind, len(scores)))  # type: ignore[arg-type]
    if result.published:
        std, seeds = float(result.published.get("std", 0.0)), max(1, int(result.published.get("seeds", 1)))
        width = 1.96 * std / seeds**0.5 if std else None
        out.append(Score(f"{result.method}, published", float(result.published["mean"]), width, "published", seeds))
    return out


def _score_table(result: Result) -> Table:
    header, lines = result.table()
    return Table("Every score, mean ± deviation over the seeds", header, lines)


def _machine(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of a result, or of environment.json."""
    out = [("hardware", str(facts.get("hardware", "")))]
    if seconds := facts.get("seconds"):
        out.append(("time", f"{float(seconds):,.0f} s"))
    if size := facts.get("peak_bytes"):
        out.append(("largest memory", f"{float(size) / 1e6:,.0f} MB"))
    out.append(("commit", str(facts.get("commit", ""))))
    versions = facts.get("versions", {})
    out += [(str(name), str(version)) for name, version in (versions.items() if isinstance(versions, dict) else ())]
    return [(label, text) for label, text in out if text]


def _comparison(folder: RunFolder) -> Sheet:
    try:
        contest = Contest.load(folder.path / "compare.json")
        made = read_object(folder.path / "settings.json") if (folder.path / "settings.json").is_file() else {}
        scores = [
            Score(
                line.label, sum(line.main) / len(line.main), interval(line.main) if len(line.main) > 1 else None,
                "baseline" if line.group == "baseline" else "method", len(line.main), GROUPS[line.group],
            )
            for line in contest.lines
            if line.main
        ]  # fmt: skip
        tables = [Table("Methods side by side", *_plain(contest.table()))]
        if len(contest.readings()[0]) > 2:
            tables.append(Table("The same encoders, read in other ways", *_plain(contest.readings())))
        chosen = [Setting(f"{line.label} ({GROUPS[line.group]})", " ".join(line.settings) or "its defaults",
                          f"best on validation of {len(line.trials)} tried" if line.trials else "")
                  for line in contest.lines if line.group != "baseline"]  # fmt: skip
        facts = [("data", contest.data), ("methods", ", ".join(dict.fromkeys(line.label for line in contest.lines if line.group != "baseline"))),
                 ("seeds", str(len(contest.seeds))), ("settings tried per method", str(made.get("budget", "")))]  # fmt: skip
        facts_made = {"hardware": contest.hardware, "versions": dict(contest.versions), "commit": contest.commit}
        recipe = made.get("recipe", {})
        return Sheet(
            name=folder.path.resolve().name, title=f"Methods on {contest.data}", metric=contest.metric,
            facts=[fact for fact in facts if fact[1]], scores=scores, tables=tables, sentences=contest.sentences(),
            settings=[*chosen, *settings_of(recipe if isinstance(recipe, dict) else {})],
            reasons=str(recipe.get("about", {}).get("notes", "")).strip().splitlines() if isinstance(recipe, dict) else [],
            machine=_machine(facts_made), notes=[text for text in contest.choices() if "could not be run" in text],
        )  # fmt: skip
    except GraphMAEError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder.path / 'compare.json'} is not a comparison ({type(error).__name__}: {error})") from None


def _plain(table: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    return table[0], [[cell.strip() for cell in line] for line in table[1]]
