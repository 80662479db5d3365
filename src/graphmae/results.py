"""What a run leaves behind: result.json. Plain Python; reads and writes without torch."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .runtime.errors import InputError
from .runtime.files import write_json
from .runtime.structure import problems
from .runtime.untrusted import read_object

FORMAT = 1
ROW_LABELS = {
    "common-neighbours": "common neighbours",
    "adamic-adar": "Adamic–Adar",
    "katz": "Katz, three steps",
    "paths-of-three": "paths of three edges",
    "rarer-paths-of-three": "paths of three, rare nodes more",
    "degrees": "degrees",
    "simple-together": "simple scores together",
    "raw": "raw features",
    "averaged": "features averaged over neighbours",
    "propagated": "features averaged over two hops",
    "netmf": "NetMF, the graph alone",
    "netmf-propagated": "NetMF and averaged features",
    "wl": "Weisfeiler–Lehman kernel",
    "graph2vec": "graph2vec",
    "ecfp-linear": "ECFP, linear model",
    "ecfp-forest": "ECFP, random forest",
    "untrained": "untrained encoder",
    "frozen-untrained": "untrained embeddings, linear model",
    "frozen": "frozen embeddings, linear model",
    "scratch": "same encoder from scratch",
    "supervised": "supervised encoder",
    "frozen-linear": "frozen embeddings, linear model",
    "frozen-boosting": "frozen embeddings, boosting",
    "ecfp-kernel": "ECFP, Tanimoto kernel",
    "descriptors-boosting": "descriptors, boosting",
    "descriptors-forest": "descriptors, random forest",
    "ecfp-descriptors-forest": "ECFP and descriptors, random forest",
    "ecfp-descriptors-kernel": "ECFP and descriptors, kernel",
    "all-boosting": "all features, boosting",
    "finetuned": "fine-tuned encoder",
    "pretrained": "",  # the method's own name
    "automatic": "automatic predictor",
}
METHOD_LABELS = {
    "graphmae": "GraphMAE",
    "dgi": "DGI",
    "ggd": "GGD",
    "cca-ssg": "CCA-SSG",
    "bgrl": "BGRL",
    "grace": "GRACE",
    "gae": "GAE",
    "vgae": "VGAE",
    "maskgae": "MaskGAE",
    "graphmae2": "GraphMAE2",
    "mvgrl": "MVGRL",
    "joint": "GraphMAE + edges",
    "infograph": "InfoGraph",
    "infomax": "Infomax",
    "graphcl": "GraphCL",
    "edge-pred": "EdgePred",
    "context-pred": "ContextPred",
}
RULE_LABELS = {
    "last": "last epoch",
    "best-validation": "best validation epoch",
    "folds": "ten folds",
    "chosen": "ten folds, reading chosen inside",
    "roc-auc": "edges held out",
    "test": "test part",
}
CHECK_LABELS = {
    "converged": "converged probe",
    "knn": "k-NN",
    "nmi": "NMI",
    "ari": "ARI",
    "inner": "inner folds",
    "weight": "weight, %",
    "mae": "MAE, last epoch",
    "ece": "calibration error, %",
    "coverage": "covered by intervals, %",
    "outside": "out of domain, %",
    "average-precision": "average precision",
}
MAIN = ("automatic", "pretrained")  # rows an experiment can be about, beside supervised ones
IN_THEIR_UNITS = ("rmse",)  # all others are percentages
TASK_LABELS = {
    "roc-auc": "ROC-AUC", "pr-auc": "PR-AUC", "balanced-accuracy": "balanced accuracy", "mcc": "MCC", "brier": "Brier",
    "ece": "calibration error", "ef-1%": "enrichment 1 %", "ef-5%": "enrichment 5 %",
    "rmse": "RMSE", "mae": "MAE", "r2": "R²", "spearman": "Spearman",
}  # fmt: skip
PERCENT = ("roc-auc", "pr-auc", "balanced-accuracy")  # of the scores of targets


# What a result.json may hold, as `runtime.structure` writes it.
RUN = {"seed": int, "rows": {str: {str: float}}}
FORM = {
    "recipe": str, "metric": str, "rule": str, "runs": [{str: Any}], "published?": Any,
    "config": {str: Any}, "data": {str: Any}, "seconds": float, "peak_bytes": int, "hardware": str,
    "versions": {str: Any}, "commit?": str, "code?": {str: str}, "format": int,
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One experiment over several seeds; `std` is the sample deviation over them (divided by n − 1).

    Scores are percentages, errors of numbers are in the numbers' own units.

    Attributes:
        runs: one entry per seed: {"seed", "seconds", "loss", "rows": {row: {rule or check: score}}}, and for whole
            graphs "folds": {row: what every fold chose and scored}; of assays "tasks": {part: {target: {metric:
            score}}} of the row the experiment is about.
        commit: of the code that made it.
        code: of parts of the user's own, file or module → sha256 of its source; where a run was resumed with changed
            code, several. The sources are in the run's folder.
    """

    recipe: str
    metric: str
    rule: str
    runs: list[dict[str, Any]]
    published: dict[str, Any] | None = None
    config: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    peak_bytes: int = 0
    hardware: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    code: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def seeds(self) -> list[int]:
        return [run["seed"] for run in self.runs]

    @property
    def scores(self) -> list[float]:
        return self.column(self.row, self.rule)

    @property
    def row(self) -> str:
        """The row the experiment is about."""
        return next((row for row in MAIN if all(row in run["rows"] for run in self.runs)), "supervised")

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores)

    @property
    def std(self) -> float:
        return deviation(self.scores)

    @property
    def repeated(self) -> str:
        """What `runs` are: the seeds of one split, or splits."""
        return "splits" if "repeats" in self.data else "seeds"

    @property
    def overlap(self) -> float:
        """Of repeated splits, the size of the test part over that of the training part; 0 where the split is one."""
        return float(self.data.get("overlap", 0.0))

    def rows(self) -> list[str]:
        """Row names, baselines first."""
        there = [row for row in self.runs[0]["rows"] if all(row in run["rows"] for run in self.runs)]
        others = [row for row in there if row not in ROW_LABELS]
        known = [row for row in ROW_LABELS if row in there]
        return [*known[:-1], *others, *known[-1:]]

    @property
    def method(self) -> str:
        """What the encoder was pre-trained with, as people write it."""
        name = str(self.config.get("method", {}).get("name", "graphmae"))
        return METHOD_LABELS.get(name, name)

    def label(self, row: str) -> str:
        """What a row is called in a table."""
        return self.method if row == "pretrained" else ROW_LABELS.get(row, row)

    def column(self, row: str, key: str) -> list[float]:
        """One value per seed; empty where this row does not have that check."""
        return [run["rows"][row][key] for run in self.runs if key in run["rows"][row]]

    def summary(self) -> dict[str, Any]:
        """The object `--json` prints."""
        baselines = {}
        for row in self.rows():
            if row != self.row:
                scores = self.column(row, self.rule)
                baselines[row] = {**described(scores, self.overlap), "scores": scores}
        means = self.task_means()
        return {
            "recipe": self.recipe,
            "metric": self.metric,
            "rule": self.rule,
            "mean": self.mean,
            "std": self.std,
            "interval": interval(self.scores, self.overlap),
            "seeds": self.seeds,
            "scores": self.scores,
            "baselines": baselines,
            "published": self.published,
            **(
                {"metrics": {metric: described(values, self.overlap) for metric, values in means.items()}}
                if means
                else {}
            ),
            "seconds": self.seconds,
            "peak_bytes": self.peak_bytes,
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the comparison table, as text."""
        labels = {key: f"{self.metric}, {label}" for key, label in RULE_LABELS.items()} | CHECK_LABELS
        if self.rule == "test":
            labels["mae"] = "MAE"  # of a predictor that has no epochs
        keys = [key for key in labels if any(self.column(row, key) for row in self.rows())]
        lines = [[self.label(row), *(_cell(self.column(row, key), self.metric) for key in keys)] for row in self.rows()]
        if self.published:
            number = f"{self.published['mean']:g} ± {self.published.get('std', 0.0):g}"
            lines.append([f"{self.method}, published", number, *[""] * (len(keys) - 1)])
        return ["", *(labels[key] for key in keys)], lines

    def task_rows(self) -> list[dict[str, Any]]:
        """Of an assay, one row per seed, part and target: {"seed", "part", "target", metric: score, …}."""
        return [
            {"seed": run["seed"], "part": part, "target": target, **scores}
            for run in self.runs
            for part, targets in run.get("tasks", {}).items()
            for target, scores in targets.items()
        ]

    def task_means(self, part: str = "test") -> dict[str, list[float]]:
        """Of an assay, metric → for every seed its mean over the targets that have it."""
        found: dict[str, list[float]] = {}
        for run in self.runs:
            targets = run.get("tasks", {}).get(part, {}).values()
            for metric in dict.fromkeys(metric for scores in targets for metric in scores):
                values = [scores[metric] for scores in targets if metric in scores]
                found.setdefault(metric, []).append(statistics.fmean(values))
        return found

    def to_dict(self) -> dict[str, Any]:
        return {**self.summary(), **asdict(self)}

    def save(self, path: str | Path) -> None:
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """The result in a run's folder, or in its result.json."""
        folder, path = Path(path), Path(path)
        if folder.is_dir():
            path = folder / "result.json"
            if not path.is_file():
                raise InputError(f"{folder} has no result.json: name the --out of a run that is finished")
        values = read_object(path)
        found = {key: values[key] for key in cls.__dataclass_fields__ if key in values}
        wrong = problems(found, FORM, "result")
        for number, run in enumerate([] if wrong else found["runs"]):
            wrong += problems({key: run[key] for key in run if key in RUN}, RUN, f"result.runs[{number}]")
        inside = (("published", {"mean": float}), ("method", {"name": str}))
        for key, inner in () if wrong else inside:
            about = found.get(key) if key == "published" else found.get("config", {}).get(key)
            if about is not None:
                given = {name: about[name] for name in inner if name in about} if isinstance(about, dict) else about
                wrong += problems(given, inner, f"result.{key}")
        if wrong or not found["runs"]:
            raise InputError(f"{path} is not a result: {'; '.join(wrong) or 'it has no runs'}")
        made = cls(**found)
        if any(made.rule not in run["rows"].get(made.row, {}) for run in made.runs):
            raise InputError(f"{path} is not a result: a run has no score by {made.rule!r}")
        return made


def task_line(means: dict[str, list[float]]) -> str:
    """'ROC-AUC 81.4, PR-AUC 79.9, MCC 0.46, …': scores of an assay in one line, means over seeds.

    >>> task_line({"roc-auc": [80.0, 82.0], "mcc": [0.5, 0.4], "count": [10.0]})
    'ROC-AUC 81.0, MCC 0.450'
    """
    shown_ones = []
    for metric, label in TASK_LABELS.items():
        if metric in means:
            mean = statistics.fmean(means[metric])
            text = f"{100 * mean:.1f} %" if metric == "ece" else f"{mean:.1f}" if metric in PERCENT else f"{mean:#.3g}"
            shown_ones.append(f"{label} {text}")
    return ", ".join(shown_ones)


def shown(value: float, metric: str) -> str:
    """A score as text: a percentage with one digit, an error in its own units with four that count."""
    return f"{value:.4g}" if metric in IN_THEIR_UNITS else f"{value:.1f}"


def _cell(values: list[float], metric: str) -> str:
    if not values:
        return "–"
    mean = shown(statistics.fmean(values), metric)
    return f"{mean} ± {shown(deviation(values), metric)}" if len(values) > 1 else mean


def deviation(scores: list[float]) -> float:
    """The sample deviation (divided by n − 1); 0 for a single score.

    >>> round(deviation([1.0, 2.0, 3.0]), 4)
    1.0
    """
    return statistics.stdev(scores) if len(scores) > 1 else 0.0


def interval(scores: list[float], overlap: float = 0.0) -> float:
    """Half the width of the 95 % interval of the mean, by Student's t; 0 for a single score.

    Scores of repeated splits are not independent, for their training parts share molecules: `overlap`, the size of a
    test part over that of a training part, widens the interval (Nadeau & Bengio 2003).

    >>> round(interval([1.0, 2.0, 3.0]), 3)
    2.484
    """
    if len(scores) < 2:
        return 0.0
    from scipy.special import stdtrit  # scipy.stats takes most of a second to import

    spread: float = deviation(scores) * (1 / len(scores) + overlap) ** 0.5
    return float(stdtrit(len(scores) - 1, 0.975)) * spread


def described(scores: list[float], overlap: float = 0.0) -> dict[str, float]:
    """Mean, deviation and half the interval of the mean."""
    return {"mean": statistics.fmean(scores), "std": deviation(scores), "interval": interval(scores, overlap)}
