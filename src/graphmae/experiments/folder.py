"""The folder of a run: what is where, and who may write there.

recipe.json          the resolved recipe (recipe.toml: the same to edit and run again)
inputs.json          of an assay: digests of what was read, molecules and checkpoint, which --resume compares
code/, code.json     of parts of the user's own: what --import read, and its sha256, which --resume compares
result.json          all scores
tasks.csv            of an assay: scores of every target, one row per seed and part
seed-0/answers.csv   of an assay: what was measured of every molecule, and what is predicted
split.csv            of an assay: which row is trained on, chosen by, tested on (refused.csv: left out, and why)
trials.json          a search: every setting that was tried
seed-0/              one seed: a checkpoint, and its scores.json when it is finished
final/seed-0/        with finetune.refit, the predictor that learned from the test part too
config.json, …       a checkpoint (graphmae.pretrained), in a seed's folder or, of one pre-training, in the run's own
metrics.jsonl        one line per epoch
environment.json     of one pre-training: machine, versions, time, memory, commit (of runs these are in result.json)
compare.json         of a comparison: every line of its tables
report.html          the page of `graphmae report`, where it was asked for
state.safetensors    what --resume goes on from, of fine-tuning in several; removed when everything is finished
tensorboard/         with train.tensorboard
.lock                held while a process works here
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import config
from ..registry import IMPORTED, imported_digests
from ..results import Result
from ..runtime import ranks
from ..runtime.errors import ConfigError, InputError, Interrupted, StopRequest
from ..runtime.files import as_path, check_folder, locked, replacing, write_json, write_text
from ..runtime.lines import line_writer
from ..runtime.untrusted import read_object

if TYPE_CHECKING:
    from ..training import TrainingState

TRIALS = "trials.json"
INPUTS = "inputs.json"
CODE = "code.json"
RUN_TABLES = ("answers.csv", "tasks.csv", "split.csv", "refused.csv")
KINDS: dict[str, Literal["comparison", "run", "model"]] = {
    "compare.json": "comparison", "result.json": "run", "config.json": "model",
}  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """Everything a run leaves on the disk.

    >>> RunFolder(Path("runs/cora")).seed(3).metrics.as_posix()
    'runs/cora/seed-3/metrics.jsonl'
    """

    path: Path

    @classmethod
    def next(cls, name: str, resume: bool = False) -> RunFolder:
        """runs/node-cora, or runs/node-cora-2 when that is taken; the latest one, if there is one, when resuming."""
        base = Path("runs") / name.replace("/", "-")
        latest, candidate, number = None, base, 1
        resume = ranks.resumes(resume)
        while candidate.exists():
            latest, number = candidate, number + 1
            candidate = Path(f"{base}-{number}")
        return cls(latest) if resume and latest is not None else cls(candidate)

    @classmethod
    def of(cls, out: str | Path | None, name: str, resume: bool = False) -> RunFolder:
        """The folder asked for, or the next one of this name."""
        return cls.next(name, resume) if out is None else cls(as_path(out, "out"))

    def check(self, resume: bool) -> None:
        """Refuse a folder that holds anything else than a run to resume; where there is nothing yet, one begins.

        Of several processes the first alone looks: it may have begun before the others.
        """
        resume = ranks.resumes(resume)
        if ranks.rank():
            return
        if self.holds_run and not resume:
            raise InputError(f"{self.path} already holds a run; pass --resume to go on with it or choose another --out")
        check_folder(self.path, "a run", self.holds_run, TRIALS)  # a search comes before the run it is for

    @contextmanager
    def claim(
        self, settings: Mapping[str, Any], resume: bool, inputs: Mapping[str, str] | None = None, force: bool = False
    ) -> Iterator[None]:
        """Hold the folder while a run with these settings works in it; refuse one that holds anything else.

        `inputs` are digests of files that are named in the settings: a run goes on only if they are what they were, and
        if the code of the user's own parts is, unless `force`. Of several processes the first holds it for all.
        """
        if ranks.rank():
            yield
            return
        self.check(resume)
        stored = self.path / "recipe.json"
        with locked(self.path), self._resumable():
            if stored.is_file():
                self.check(resume)  # again: another process may have begun a run meanwhile
                if other := _differences(_settings(read_object(stored)), _settings(settings)):
                    raise InputError(
                        f"{self.path} holds a run with other settings ({', '.join(other[:5])}); --resume needs the "
                        "same recipe, seed and --set"
                    )
                self._check_inputs(inputs or {})
                if not force:
                    self._check_code()
            else:
                write_json(stored, settings)
            if inputs:
                write_json(self.path / INPUTS, inputs)
            self._keep_code()
            yield

    def _check_inputs(self, inputs: Mapping[str, str]) -> None:
        """Runs of older versions have not kept theirs."""
        path = self.path / INPUTS
        before = read_object(path) if path.is_file() else {}
        if changed := [name for name in inputs if before.get(name, inputs[name]) != inputs[name]]:
            raise InputError(
                f"the {' and the '.join(changed)} changed since the run in {self.path} began, so it cannot go on: "
                "choose another --out"
            )

    def _check_code(self) -> None:
        """Runs without parts of the user's own, and those of older versions, have kept none."""
        before, now = self.read_code(), imported_digests()
        if changed := [name for name in before if before[name][-1] != now.get(name)]:
            raise InputError(
                f"{', '.join(changed)} changed since the run in {self.path} began (a copy is in {self.path / 'code'}): "
                "put it back, choose another --out, or pass --force to go on with the changed code"
            )

    def _keep_code(self) -> None:
        code = self.read_code()
        for name, digest in imported_digests().items():
            if code.get(name, [""])[-1] != digest:
                write_text(
                    self.path / "code" / f"{digest[:8]}-{Path(name).stem}.py", IMPORTED[name].decode("utf-8", "replace")
                )
                code[name] = [*code.get(name, []), digest]
        if code:
            write_json(self.path / CODE, code)

    def read_code(self) -> dict[str, list[str]]:
        """File or module of the user's own → sha256 of its source, the newest last."""
        path = self.path / CODE
        return read_object(path) if path.is_file() else {}

    @contextmanager
    def _resumable(self) -> Iterator[None]:
        """Whatever a signal stops in here can be gone on with: what is finished is kept."""
        try:
            yield
        except StopRequest as request:
            raise Interrupted(
                f"stopped; the same command with --resume goes on in {self.path}", request.signal
            ) from None

    @property
    def holds_run(self) -> bool:
        return (self.path / "recipe.json").is_file()

    @property
    def holds_model(self) -> bool:
        return (self.path / "config.json").is_file()

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def state(self) -> TrainingState:
        return self.state_of("")

    def state_of(self, part: str) -> TrainingState:
        """The state of one training among several of the same seed."""
        from ..training import TrainingState

        return TrainingState(self.path / f"state{'-' * bool(part)}{part}.safetensors")

    def delete_states(self) -> None:
        """Nothing is left to go on with."""
        for path in self.path.glob("state*.safetensors"):
            path.unlink(missing_ok=True)

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def recipe_toml(self) -> Path:
        return self.path / "recipe.toml"

    def seed(self, number: int) -> RunFolder:
        """The folder of one seed."""
        return RunFolder(self.path / f"seed-{number}")

    def final(self, number: int) -> RunFolder:
        """The predictor of one seed that learned from the test part too."""
        return RunFolder(self.path / "final" / f"seed-{number}")

    def read_scores(self) -> dict[str, Any] | None:
        """Of a seed that is finished; None where it is not."""
        path = self.path / "scores.json"
        return read_object(path) if path.is_file() else None

    def write_scores(self, scores: Mapping[str, Any]) -> None:
        write_json(self.path / "scores.json", scores)

    def write_recipe_toml(self, text: str) -> None:
        write_text(self.recipe_toml, text)

    @property
    def holds_trials(self) -> bool:
        return (self.path / TRIALS).is_file()

    def read_trials(self) -> dict[str, Any] | None:
        path = self.path / TRIALS
        return read_object(path) if path.is_file() else None

    def write_trials(self, trials: Mapping[str, Any]) -> None:
        write_json(self.path / TRIALS, trials)

    def write_environment(self, facts: Mapping[str, Any]) -> None:
        write_json(self.path / "environment.json", facts)

    def read_environment(self) -> dict[str, Any]:
        """Empty where an older version made the run."""
        path = self.path / "environment.json"
        return read_object(path) if path.is_file() else {}

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def kind(self) -> Literal["comparison", "run", "model"]:
        """What the folder holds: compare.json, result.json, or a checkpoint alone; refused where it is none."""
        for file, kind in KINDS.items():
            if (self.path / file).is_file():
                return kind
        if (self.path / "curve.json").is_file():
            one = next(iter(sorted(self.path.glob("train-*"))), "train-N")
            raise InputError(f"{self.path} is a learning curve; a report shows one of its runs, such as {one}")
        there = "is not a folder" if not self.path.is_dir() else f"has none of {', '.join(KINDS)}"
        unfinished = "; it was not finished: go on with --resume" if self.holds_run else ""
        raise InputError(f"{self.path} is not a run, it {there}{unfinished or '; name the --out of a run'}")

    def write_result(self, result: Result) -> None:
        result.save(self.path / "result.json")
        if rows := result.task_rows():
            self._write_tasks(rows)

    def _write_tasks(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Columns: seed, part, target, and every metric any row has; an empty cell where one is not defined."""
        header = list(dict.fromkeys(key for row in rows for key in row))
        with replacing(self.path / "tasks.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
            line = line_writer()
            file.write(line(header))
            for row in rows:
                cells = [row.get(key, "") for key in header]
                file.write(line(f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells))

    def stored_recipe(self) -> dict[str, Any] | None:
        """The recipe of the run this folder, or this seed, belongs to."""
        for path in (self.path / "recipe.json", self.path.parent / "recipe.json"):
            if path.is_file():
                recipe = read_object(path)
                if wrong := config.stored_problems(recipe):
                    raise ConfigError(wrong, str(path))
                return recipe
        return None


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys that two recipes do not have alike, as `--set` calls them.

    >>> _differences({"train": {"lr": 1, "epochs": 2}, "seed": 0}, {"train": {"lr": 1, "epochs": 3}, "seed": 0})
    ['train.epochs']
    """
    found = []
    for key in dict.fromkeys([*one, *other]):
        a, b = one.get(key), other.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += [f"{key}.{inner}" for inner in _differences(a, b)]
        elif a != b:
            found.append(key)
    return found


def _settings(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two runs the same: all but what only people read. Runs older than other methods name none."""
    for_people = ("about", "published")
    return {"method": {"name": "graphmae"}, **{key: value for key, value in recipe.items() if key not in for_people}}
