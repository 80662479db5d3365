"""What the files of a run say, as the parts of a `Sheet`: settings, curves, scores, machine. Knows no torch."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from .. import config
from ..results import IN_THEIR_UNITS, METHOD_LABELS, Result, interval, shown
from ..runtime.errors import GraphMAEError, InputError
from ..runtime.untrusted import read_limited, read_object
from .contest import GROUPS, Contest
from .page import Curve, Score, Setting, Sheet, Table

MOST_METRICS = 1 << 27  # bytes
LABELS = {"name": "data", "ended": "training", "selected": "selected by labels", "repeats": "", "overlap": ""}
OF_MOLECULES = {"graphs": "molecules", "nodes": "atoms", "edges": "", "features": ""}  # "": not shown


def title_of(recipe: Mapping[str, Any]) -> str:
    method = str(recipe.get("method", {}).get("name", "graphmae"))
    data = recipe.get("data", {})
    on = Path(str(data.get("nodes") or data.get("path") or data.get("name") or "?")).name
    does = "fine-tuned on" if recipe.get("finetune") else "on"
    if recipe.get("supervised"):
        return f"Supervised {recipe.get('encoder', {}).get('name', 'encoder')} on {on}"
    return f"{METHOD_LABELS.get(method, method)} {does} {on}"


def facts_of(recipe: Mapping[str, Any], result: Result | None, folder: Path) -> list[tuple[str, str]]:
    method = str(recipe.get("method", {}).get("name", "graphmae"))
    facts = [("method", METHOD_LABELS.get(method, method))]
    if title := recipe.get("about", {}).get("title"):
        facts.append(("experiment", str(title)))
    trained = dict(result.data) if result is not None else {}
    path = folder / "config.json"
    if not trained and path.is_file():
        stored = read_object(path).get("trained_on")
        trained = dict(stored) if isinstance(stored, dict) else {}  # refused where the model is loaded
    labels = LABELS | (OF_MOLECULES if recipe.get("finetune") else {})
    for key, value in trained.items():
        if (label := labels.get(key, key.replace("_", " "))) and not isinstance(value, dict):
            facts.append((label, f"{value:,}" if isinstance(value, int) and key != "seed" else str(value)))
    if result is not None:
        facts.append((result.repeated, str(len(result.seeds))))
        ways = dict.fromkeys(way for run in result.runs if (way := _way(run.get("chosen"))))
        if ways:
            facts.append(("fine-tuning, chosen in the folds", " / ".join(ways)))
        if result.published:
            source = result.published.get("source", "")
            facts.append(
                ("published figure", f"{result.published['mean']:g} ± {result.published.get('std', 0):g} ({source})")
            )
    return facts


def _way(chosen: Any) -> str:
    """How the encoder of an automatic predictor was fine-tuned, as its report says it."""
    found = chosen.get("finetuning") if isinstance(chosen, dict) else None
    return str(found.get("way", "")) if isinstance(found, dict) else ""


def reasons_of(recipe: Mapping[str, Any]) -> list[str]:
    """Why settings were chosen, a line each."""
    return str(recipe.get("about", {}).get("notes", "")).strip().splitlines()


def settings_of(recipe: Mapping[str, Any], name: str = "") -> list[Setting]:
    """Every key of a recipe that is set, and where its value is from."""
    base: Mapping[str, Any] = {}
    if name in config.names():
        base = config.load(name).to_dict()
    out = []
    for section, values in recipe.items():
        if section in ("about", "published") or not isinstance(values, Mapping):
            continue
        if recipe.get("finetune", {}).get("members") and section not in ("data", "finetune"):  # the others do not apply
            continue
        for key, value in values.items():
            if value is None or value == "" or value == [] or (section == "finetune" and key in _chosen(recipe)):
                continue
            before = base.get(section, {}).get(key)
            changed = bool(base) and before != value and before != ["all"]
            why = f"recipe {name}" if base else ""
            if changed:
                why = f"changed: recipe {name} has {'none' if before is None else _text(before)}"
            out.append(Setting(f"{section}.{key}", _text(value), why, changed))
    return out


def _chosen(recipe: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys that an automatic predictor does not read, for it chooses them itself; what it chose is on the page."""
    settings = recipe.get("finetune", {})
    if not settings.get("members"):
        return ()
    never = ("schedule", "rule", "baselines", *(() if settings.get("epochs") else ("epochs",)))
    return (*never, "mode", "lr", "dropout") if settings.get("search") else never


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def curve_of(name: str, path: Path) -> Curve:
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


def scores_of(result: Result) -> list[Score]:
    out = []
    for row in result.rows():
        if scores := result.column(row, result.rule):
            kind = "method" if row == result.row else "baseline"
            width = interval(scores, result.overlap) if len(scores) > 1 else None
            out.append(Score(result.label(row), statistics.fmean(scores), width, kind, len(scores)))  # type: ignore[arg-type]
    if result.published:
        std, seeds = float(result.published.get("std", 0.0)), max(1, int(result.published.get("seeds", 1)))
        width = 1.96 * std / seeds**0.5 if std else None
        out.append(Score(f"{result.method}, published", float(result.published["mean"]), width, "published", seeds))
    return out


def outcome(result: Result, scores: Sequence[Score]) -> str:
    """The outcome in a sentence."""
    unit = "" if result.metric in IN_THEIR_UNITS else " %"
    own = next((score for score in scores if score.kind == "method"), scores[0])
    others = [score for score in scores if score.kind == "baseline"]
    text = f"{own.label}: {result.metric} {shown(own.mean, result.metric)}{unit}"
    text += f" over {own.seeds} {result.repeated}" if own.seeds > 1 else " with one seed"
    if others:
        best = (min if result.metric in IN_THEIR_UNITS else max)(others, key=lambda score: score.mean)
        text += f"; the best baseline, {best.label}, has {shown(best.mean, result.metric)}{unit}"
    if result.published:
        text += f"; published is {result.published['mean']:g} ± {result.published.get('std', 0):g}{unit}"
    return text + "."


def score_table(result: Result) -> Table:
    header, lines = result.table()
    title = f"Every score, mean ± deviation over the {result.repeated}" if len(result.seeds) > 1 else "Every score"
    return Table(title, header, lines)


def machine_of(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of a result, or of environment.json."""
    out = [("hardware", str(facts.get("hardware", "")))]
    if isinstance(seconds := facts.get("seconds"), int | float):
        out.append(("time", f"{seconds:,.0f} s"))
    if isinstance(size := facts.get("peak_bytes"), int | float) and size:
        out.append(("largest memory", f"{size / 1e6:,.0f} MB"))
    out.append(("commit", str(facts.get("commit", ""))))
    code = facts.get("code", {})
    out += [
        (f"own code, {name}", f"sha256 {digest}") for name, digest in (code.items() if isinstance(code, dict) else ())
    ]
    versions = facts.get("versions", {})
    out += [(str(name), str(version)) for name, version in (versions.items() if isinstance(versions, dict) else ())]
    return [(label, text) for label, text in out if text]


def comparison(folder: Path) -> Sheet:
    """The sheet of `graphmae compare`: no models are kept, so it has no maps."""
    try:
        contest = Contest.load(folder / "compare.json")
        known = folder / "settings.json"
        return _sheet_of(folder, contest, read_object(known) if known.is_file() else {})
    except GraphMAEError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{folder / 'compare.json'} is not a comparison ({type(error).__name__}: {error})") from None


def _sheet_of(folder: Path, contest: Contest, facts: Mapping[str, Any]) -> Sheet:
    scores, chosen = [], []
    for line in contest.lines:
        group = GROUPS[line.group]
        if line.main:
            width = interval(line.main) if len(line.main) > 1 else None
            kind: Literal["baseline", "method"] = "baseline" if line.group == "baseline" else "method"
            scores.append(Score(line.label, statistics.fmean(line.main), width, kind, len(line.main), group))
        if line.group != "baseline":
            why = f"best on validation of {len(line.trials)} tried" if line.trials else ""
            chosen.append(Setting(f"{line.label} ({group})", " ".join(line.settings) or "its defaults", why, True))
    tables = [Table("Methods side by side", *_plain(contest.table()))]
    if len(contest.readings()[0]) > 2:
        tables.append(Table("The same encoders, read in other ways", *_plain(contest.readings())))
    methods = dict.fromkeys(line.label for line in contest.lines if line.group != "baseline")
    shown_facts = [("data", contest.data), ("methods", ", ".join(methods)), ("seeds", str(len(contest.seeds)))]
    if "budget" in facts:
        shown_facts.append(("settings tried per method", str(facts["budget"])))
    recipe = dict(facts.get("recipe", {}))
    environment = {"hardware": contest.hardware, "versions": dict(contest.versions), "commit": contest.commit}
    return Sheet(
        name=folder.resolve().name,
        title=f"Methods on {contest.data}",
        metric=contest.metric,
        facts=shown_facts,
        settings=[*chosen, *settings_of(recipe)],
        reasons=reasons_of(recipe),
        scores=scores,
        tables=tables,
        sentences=contest.sentences(),
        machine=machine_of(environment),
        notes=[text for text in contest.choices() if "could not be run" in text],
    )


def _plain(table: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    return table[0], [[cell.strip() for cell in line] for line in table[1]]
