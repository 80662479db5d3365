"""What every member of an automatic predictor says, kept in files: fitting takes minutes, weighing milliseconds.

    python -m benchmarks.chemist_members runs/chemist bbbp bace --seeds 0-4
    python -m benchmarks.chemist_members runs/chemist bbbp bace --nested 0-3     # rules are studied on these
    python -m benchmarks.chemist_members runs/chemist bbbp --packed .carry/assays --device cuda
    python -m benchmarks.chemist_members runs/chemist --join runs/others          # other members of the same runs
    python -m benchmarks.chemist_members runs/chemist toxcast --beside descriptors-boosting    # not a member: too slow
    python -m benchmarks.chemist_members runs/chemist                             # what the nested ones say, kept too
    python -m benchmarks.chemist_members runs/chemist --table                     # the others, into chemist.json
    python -m benchmarks.chemist_members runs/chemist --resample 2000             # is a difference more than chance?

`--nested K` leaves the test part out altogether and takes another from the training part: molecules of its rarer
scaffolds, as the scaffold split does, drawn by K. How members are weighed is decided on those; the test part is scored
once, by `--table`.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graphmae as gm
from graphmae.cli.options import parse_seeds
from graphmae.config import Finetune
from graphmae.data.molecules import Assay
from graphmae.finetuning.calibration import Conformal, Platt, coverage, expected_calibration_error, logistic, logit
from graphmae.finetuning.fitting import costly, fit_members
from graphmae.finetuning.members import SPECS, fit
from graphmae.finetuning.parts import features_of
from graphmae.finetuning.stack import Choice, as_logits, choose, combined, effective, score, spread_of
from graphmae.runtime.device import numerics
from graphmae.runtime.environment import commit, hardware

from .chemist import ALTERNATIVES, CHECKPOINT, load, read, write

NESTED_SHARE = 0.12  # of the training part, about what a scaffold split leaves to test on
NESTED_MOST = 10  # molecules of a scaffold that may be left out: the split keeps the common ones in training


@dataclass(frozen=True)
class Said:
    """What members say of the training molecules (by models that had not seen them) and of the test part."""

    about: dict[str, Any]
    seen: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    y: np.ndarray
    y_test: np.ndarray
    folds: np.ndarray

    @property
    def kind(self) -> str:
        return str(self.about["kind"])

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What was not measured is not scored: zeros take no room in the file.
        seen = {f"seen.{name}": np.where(np.isnan(self.y), 0, said) for name, said in self.seen.items()}
        arrays = seen | {f"test.{name}": np.where(np.isnan(self.y_test), 0, said) for name, said in self.test.items()}
        about = np.array(json.dumps(self.about))
        small = {key: value.astype(np.float32) for key, value in arrays.items()}
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, about=about, y=self.y, y_test=self.y_test, folds=self.folds, **small)
        partial.rename(path)

    @classmethod
    def read(cls, path: Path) -> Said:
        with np.load(path) as file:
            found = dict(file.items())
        parts: dict[str, dict[str, np.ndarray]] = {"seen": {}, "test": {}}
        for key, value in found.items():
            part, _, member = key.partition(".")
            if member:
                parts[part][member] = value.astype(np.float64)
        about = json.loads(str(found["about"]))
        return cls(about, parts["seen"], parts["test"], found["y"], found["y_test"], found["folds"])

    def logits(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What is averaged, of the training molecules and of the test part: calibrated logits, or numbers."""
        if self.kind != "classification":
            return self.seen, self.test
        seen, platts = as_logits(self.seen, self.y)
        return seen, {name: platts[name].logits(logit(guess)) for name, guess in self.test.items() if name in seen}

    def member_rows(self) -> dict[str, dict[str, float]]:
        """Those of `beside` have no inner score, for they were not compared."""
        sign = 1 if self.kind == "classification" else -1
        inner = {name: {"inner": sign * score(guess, self.y, self.kind)} for name, guess in self.seen.items()}
        return {
            name: {"test": sign * score(guess, self.y_test, self.kind), **inner.get(name, {}), **self.also(guess)}
            for name, guess in self.test.items()
        }

    def also(self, guess: np.ndarray) -> dict[str, float]:
        """R² of numbers, in percent: errors have units, and cannot be averaged over sets."""
        if self.kind == "classification":
            return {}
        error, around = guess - self.y_test, self.y_test - np.nanmean(self.y_test, axis=0)
        return {"r2": float(100 * (1 - np.nansum(error**2) / np.nansum(around**2)))}

    def points(self, guess: np.ndarray, rows: np.ndarray) -> float:
        """The score of some test molecules, higher being better: ROC-AUC, or R² in percent."""
        some = replace(self, y_test=self.y_test[rows])
        return some.also(guess[rows]).get("r2", score(guess[rows], some.y_test, self.kind))

    def row_of(self, choice: Choice, level: float = 0.9) -> dict[str, float]:
        """Scores of the members weighed by `choice` on the test part, calibrated as the predictor is."""
        seen, test = self.logits()
        middle, held = combined(seen, choice.weights), combined(test, choice.weights)
        row = {"test": abs(score(held, self.y_test, self.kind)), "inner": choice.inner, **self.also(held)}
        if self.kind == "classification":
            before = expected_calibration_error(logistic(held), self.y_test)
            after = expected_calibration_error(Platt.fit(middle, self.y)(held), self.y_test)
            return {**row, "ece": after, "ece_before": before}
        count, spread = effective(choice.weights), spread_of(seen, choice.weights)
        half = Conformal.fit(middle, spread, self.y, count, level).half_width(spread_of(test, choice.weights))
        return {
            **row, "coverage": coverage(held - half, held + half, self.y_test),
            "mae": float(np.nanmean(np.abs(held - self.y_test))),
        }  # fmt: skip


def nested(assay: Assay, number: int) -> Assay:
    """The training part as an assay of its own, molecules of some of its rarer scaffolds as the test part."""
    train = np.sort(np.concatenate([assay.split["train"], assay.split["val"]]))
    _, member, sizes = np.unique(assay.groups[train], return_inverse=True, return_counts=True)
    random, left = np.random.default_rng(number), NESTED_SHARE * len(train)
    held = np.zeros(len(train), dtype=bool)
    for group in random.permutation(np.flatnonzero(sizes <= NESTED_MOST)):
        if held.sum() < left:
            held |= member == group
    out = copy.copy(assay)
    out.__dict__["split"] = {"train": train[~held], "val": train[:0], "test": train[held]}
    return out


def path_of(folder: Path, name: str, split: str, seed: int, inside: int | None = None) -> Path:
    return folder / f"{name}-{split}-{seed}{'' if inside is None else f'-nested-{inside}'}.npz"


def say(assay: Assay, seed: int, device: str, members: str = "auto", checkpoint: str = CHECKPOINT) -> Said:
    """Fit every member; seconds are of this machine as it was."""
    encoder, used, began = gm.load(checkpoint).encoder, torch.device(device), time.monotonic()
    with numerics(used):
        settings = Finetune(epochs=0, members=tuple(members.split(",")))  # type: ignore[arg-type]
        found = fit_members(encoder, assay, settings, seed, used)
    about = {
        "set": assay.name, "kind": assay.kind, "metric": assay.metric, "seed": seed, "members": members,
        "checkpoint": checkpoint, "facts": found.facts,
        "grouped": found.parts.grouped, "seconds": round(time.monotonic() - began, 1), "hardware": hardware(device),
        "busy": os.getloadavg()[0], "commit": commit(), "molecules": len(found.parts.train) + len(found.parts.test),
        "targets": len(assay.names),
    }  # fmt: skip
    y_test = np.asarray(assay.scored, dtype=np.float64)[found.parts.test]
    return Said(about, found.seen, found.test, found.y, y_test, found.parts.folds)


def beside(said: Said, assay: Assay, name: str, seed: int) -> Said:
    """With one more model's answers for the test part: an alternative that takes too long to be a member."""
    train, (counts, descriptors) = (
        np.sort(np.concatenate([assay.split["train"], assay.split["val"]])),
        features_of(assay),
    )
    y = np.asarray(assay.targets, dtype=np.float64)[train]
    parts = [{"ecfp": counts[rows], "descriptors": descriptors[rows]} for rows in (train, assay.split["test"])]
    fitted = fit(name, SPECS[name].settings[-1], parts[0], y, assay.kind, seed)
    return replace(said, test={**said.test, name: fitted.predict(parts[1])})


def join(folder: Path, other: Path) -> None:
    """Add what members say in the files of `other` to the files of the same runs in `folder`."""
    for path in sorted(other.glob("*.npz")):
        more = Said.read(path)
        if (folder / path.name).is_file():
            said = Said.read(folder / path.name)
            assert np.array_equal(said.folds, more.folds) and np.array_equal(said.y, more.y, equal_nan=True), path
            facts = {**more.about["facts"], **said.about["facts"]}
            facts["settings"] = {**more.about["facts"]["settings"], **said.about["facts"]["settings"]}
            seconds = said.about["seconds"] + more.about["seconds"]
            about = {**said.about, "members": "auto", "facts": facts, "seconds": seconds}
            more = Said(about, {**more.seen, **said.seen}, {**more.test, **said.test}, said.y, said.y_test, said.folds)
        more.write(folder / path.name)


def show(path: Path) -> dict[str, Any]:
    """What every member has on the molecules left out, and what the present rule makes of them."""
    said = Said.read(path)
    choice = choose(said.logits()[0], said.y, said.folds, said.kind, costly(said.seen))
    rows = {**said.member_rows(), "automatic": said.row_of(choice)}
    for name, row in rows.items():
        print(f"{path.stem:40} {name:26} inner {row.get('inner', math.nan):8.3f}  left out {row['test']:8.3f}")
    about = {key: said.about[key] for key in ("set", "metric", "seed", "members", "hardware", "commit")}
    tested = {name: round(row["test"], 4) for name, row in rows.items()}
    return {**about, "division": int(path.stem.rsplit("-", 1)[1]), "left_out": len(said.y_test), "test": tested}


def table(folder: Path) -> None:
    """Score the test part of every file with the present rule, and add the rows to chemist.json."""
    found = read()
    for path in sorted(folder.glob("*.npz")):
        if "-nested-" in path.stem:
            continue
        said = Said.read(path)
        choice = choose(said.logits()[0], said.y, said.folds, said.kind, costly(said.seen))
        about = said.about
        key = {"set": about["set"], "split": path.stem.split("-")[-2], "seed": about["seed"]}
        key["members"] = about.get("members", "auto")
        kept = [run for run in found.get("scores", []) if {k: run[k] for k in key} != key]
        shown = ("molecules", "targets", "metric", "seconds", "hardware", "busy", "commit")
        rows = {**said.member_rows(), "automatic": said.row_of(choice)}
        chosen = {"way": choice.way, "weights": choice.weights, **about["facts"]}
        found["scores"] = [*kept, {**key, **{k: about[k] for k in shown}, "rows": rows, "chosen": chosen}]
        print(path.stem, choice.way, {name: round(row["test"], 3) for name, row in rows.items()})
    write(found)


def resample(path: Path, times: int) -> dict[str, Any]:
    """How far the predictor is from each alternative, in points, with a 95 % interval over resampled test molecules."""
    said = Said.read(path)
    choice = choose(said.logits()[0], said.y, said.folds, said.kind, costly(said.seen))
    held, random = combined(said.logits()[1], choice.weights), np.random.default_rng(0)
    rows = [np.arange(len(held)), *(random.integers(len(held), size=len(held)) for _ in range(times))]
    found = {}
    for name in (name for name in ALTERNATIVES if name in said.test):
        gains = [said.points(held, drawn) - said.points(said.test[name], drawn) for drawn in rows]
        low, high = np.nanquantile(gains[1:], [0.025, 0.975])
        found[name] = {"gain": gains[0], "low": float(low), "high": float(high)}
        print(f"{path.stem:32} {name:22} {gains[0]:7.2f}  {low:7.2f} to {high:7.2f}", flush=True)
    about = {key: said.about[key] for key in ("set", "metric", "seed", "members", "hardware", "commit")}
    return {**about, "split": path.stem.split("-")[-2], "molecules": len(held), "times": times, "gains": found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", help="none: print what the folder's nested files say")
    parser.add_argument("--split", default="scaffold")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--nested", default="", help="numbers of divisions inside the training part")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--packed", type=Path, help="folder of files of benchmarks.packed_assays: needs no RDKit")
    parser.add_argument("--members", default="auto", help="names, with commas between them")
    parser.add_argument("--checkpoint", default=CHECKPOINT, help="the pre-trained encoder")
    parser.add_argument("--beside", default="", help="a model to score beside the members of files that are there")
    parser.add_argument("--join", type=Path, help="a folder with other members of the same runs")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--resample", type=int, default=0, help="how often test molecules are drawn again")
    given = parser.parse_args()
    if given.join:
        join(given.folder, given.join)
    if given.table:
        table(given.folder)
    if given.resample:
        paths = [path for path in sorted(given.folder.glob("*.npz")) if "-nested-" not in path.stem]
        write({**read(), "resampled": [resample(path, given.resample) for path in paths]})
    if not (given.sets or given.table or given.join or given.resample):
        inside = [show(path) for path in sorted(given.folder.glob("*-nested-*.npz"))]
        write({**read(), "inside": inside})
    for seed in parse_seeds(given.seeds):
        for inside in parse_seeds(given.nested) if given.nested else [None]:
            for name in given.sets:
                path = path_of(given.folder, name, given.split, seed, inside)
                if given.beside:
                    said, assay = Said.read(path), load(name, given.split, seed, given.packed)
                    beside(said, assay, given.beside, seed).write(path)
                    continue
                if path.is_file():
                    continue
                assay = load(name, given.split, seed, given.packed)
                assay = assay if inside is None else nested(assay, inside)
                said = say(assay, seed, given.device, given.members, given.checkpoint)
                said.write(path)
                print(path.name, said.about["seconds"], flush=True)
