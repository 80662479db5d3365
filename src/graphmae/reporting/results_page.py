"""The results page: every table of the paper from a folder of ledger files, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from .ablations import ablation_table, curve_table, decay_table, effects_table
from .ledger import SIGNIFICANT, Entry, cell, compared, nested, p_cell, paired, published_cell, read_ledger
from .paper import (
    DEGREE_METHOD,
    GAMMAS,
    GRAPH2VEC,
    GRAPH_METHODS,
    GRAPH_SETS,
    MASK_RATES,
    METHOD_SETS,
    MOLECULE_METHOD_SETS,
    MOLECULE_METHODS,
    MOLECULE_SETS,
    NODE_METHODS,
    NODE_SETS,
    WITHOUT_LABELS,
)

Ledger = dict[str, Entry]


def blocks(results: Path) -> dict[str, str]:
    """Name → table, for a page with places `<!-- name -->` to fill."""
    made: dict[str, Callable[[Path], str]] = {
        "node-table": node_table,
        "graph-table": graph_table,
        "graph-gain": graph_gain,
        "molecule-table": molecule_table,
        "ablation-table": ablation_table,
        "ablation-decay": decay_table,
        "ablation-effects": effects_table,
        "curve-rate": lambda folder: curve_table(folder, "rate", MASK_RATES),
        "curve-gamma": lambda folder: curve_table(folder, "gamma", GAMMAS),
        "method-nodes": method_nodes,
        "method-graphs": method_graphs,
        "method-molecules": method_molecules,
        "provenance": provenance,
    }
    return {name: make(results) for name, make in made.items()}


def node_table(results: Path, sets: Iterable[str] = ("cora", "citeseer", "pubmed")) -> str:
    """Frozen encoder and linear probe, and the supervised networks."""
    sets = list(sets)
    ledgers = {name: read_ledger(results / f"node-{name}.json") for name in sets}
    lines: list[tuple[str, list[list[float]]]] = [
        *[
            (f"{title}, {label}", [_scores(ledgers[s], "graphmae", row, rule) for s in sets])
            for row, title in (("raw", "raw features"), ("untrained", "untrained encoder"))
            for rule, label in (("last", "last epoch"), ("converged", "converged"))
        ],
        *[
            (f"supervised {kind.upper()}, best validation epoch", [
                _scores(ledgers[s], f"supervised-{kind}", "supervised", "best-validation") for s in sets
            ])
            for kind in ("gcn", "gat")
        ],
        *[
            (f"GraphMAE, {title}", [_scores(ledgers[s], "graphmae", "pretrained", rule) for s in sets])
            for rule, title in (
                ("converged", "converged"), ("best-validation", "best validation epoch"), ("last", "last epoch"),
            )
        ],
    ]  # fmt: skip
    out = [f"| | {' | '.join(NODE_SETS[s] for s in sets)} |", "|---" * (len(sets) + 1) + "|"]
    out += _bold_best(lines)
    for kind in ("gcn", "gat"):
        figures = [published_cell(_published(ledgers[s], f"supervised-{kind}")) for s in sets]
        out.append(f"| supervised {kind.upper()}, published | {' | '.join(figures)} |")
    figures = [published_cell(_published(ledgers[s], "graphmae")) for s in sets]
    out.append(f"| GraphMAE, published | {' | '.join(figures)} |")
    verdicts = []
    for name in sets:
        scores = _scores(ledgers[name], "graphmae", "pretrained", "last")
        difference, width, verdict = compared(scores, _published(ledgers[name], "graphmae"))
        verdicts.append(f"{difference:+.2f} ± {width:.2f}: {verdict}" if scores else "–")
    return "\n".join([*out, f"| difference at the last epoch | {' | '.join(verdicts)} |"])


def method_nodes(results: Path) -> str:
    """The other methods on the three citation graphs, each with its recipe and its own untrained encoder."""
    ledgers = {name: read_ledger(results / f"method-{name}.json") for name in METHOD_SETS}
    ours = {name: read_ledger(results / f"node-{name}.json") for name in METHOD_SETS}
    heads = [
        f"{NODE_SETS[s]}{part}" for s in METHOD_SETS for part in ("", ", its encoder untrained", ", others report")
    ]
    out = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name, (title, known) in NODE_METHODS.items():
        cells = []
        for s, band in zip(METHOD_SETS, known, strict=True):
            rows = [_scores(ledgers[s], name, row, "last") for row in ("pretrained", "untrained")]
            cells += [*(cell(scores) for scores in rows), band]
        out.append(f"| {title} | {' | '.join(cells)} |")
    cells = []
    for s in METHOD_SETS:
        rows = [_scores(ours[s], "graphmae", row, "last") for row in ("pretrained", "untrained")]
        cells += [*(cell(scores) for scores in rows), published_cell(_published(ours[s], "graphmae"))]
    return "\n".join([*out, f"| GraphMAE | {' | '.join(cells)} |"])


def method_graphs(results: Path) -> str:
    """InfoGraph and GraphCL on seven sets of graphs, with both inputs; MVGRL and graph2vec with labels or degrees."""
    heads = [
        "", "input", "InfoGraph", "GraphCL", "their encoder untrained", "MVGRL", "its encoder untrained", "graph2vec",
        "InfoGraph, published", "GraphCL, published", "MVGRL, published", "graph2vec, published",
    ]  # fmt: skip
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for group, title in GRAPH_SETS.items():
        ledger = read_ledger(results / f"method-{group}.json")
        kinds = {"": "constant", "-degree": "degrees"} if group in WITHOUT_LABELS else {"": "labels"}
        for kind, said in kinds.items():
            cells = [cell(_scores(ledger, name + kind, "pretrained", "folds")) for name in GRAPH_METHODS]
            cells.append(cell(_scores(ledger, f"infograph{kind}", "untrained", "folds")))
            figures = [published_cell(_published(ledger, name)) if not kind else "–" for name in GRAPH_METHODS]
            if said == "constant":
                cells, figures = [*cells, *["–"] * 3], [*figures, *["–"] * 2]
            else:
                rows = ("pretrained", "untrained", "graph2vec")
                cells += [cell(_scores(ledger, DEGREE_METHOD, row, "folds")) for row in rows]
                figures.append(published_cell(_published(ledger, DEGREE_METHOD)))
                figures.append("{:.2f} ± {:.2f}".format(*GRAPH2VEC[group]) if group in GRAPH2VEC else "–")
            out.append(f"| {title} | {said} | {' | '.join([*cells, *figures])} |")
    return "\n".join(out)


def method_molecules(results: Path) -> str:
    """ROC-AUC of other ways to pre-train on the same molecules, for as many epochs: fine-tuned, and frozen."""
    titles = [MOLECULE_SETS[group] for group in MOLECULE_METHOD_SETS]
    out = [f"| | {' | '.join(titles)} | average |", "|---" * (len(titles) + 2) + "|"]
    ledgers = [read_ledger(results / f"method-{group}.json") for group in MOLECULE_METHOD_SETS]
    kinds = {"pretrained": "last epoch", "frozen": "frozen", "frozen-untrained": "untrained, frozen"}
    for row, said in kinds.items():
        for name, (title, _, _) in MOLECULE_METHODS.items():
            columns = [_scores(ledger, name, row, "last") for ledger in ledgers]
            if row == "frozen-untrained":
                if name != "graphmae":
                    continue
                title = "encoder"
            means = [statistics.fmean(scores) for scores in columns if scores]
            average = f"{statistics.fmean(means):.1f}" if len(means) == len(columns) else "–"
            cells = " | ".join(cell(_once(scores), 1) for scores in columns)
            out.append(f"| {title}, {said} | {cells} | {average} |")
    for title, _, figures in MOLECULE_METHODS.values():
        if figures[0] != "–":
            average = f"{statistics.fmean(map(float, figures)):.1f}"
            out.append(f"| {title}, published | {' | '.join(figures)} | {average} |")
    return "\n".join(out)


def graph_table(results: Path) -> str:
    """Support vector machine in ten folds; all but the rows that hold one reading choose it inside each fold."""
    header = (
        "", "raw features", "Weisfeiler–Lehman", "untrained encoder", "supervised GIN", "GraphMAE, published settings",
        "GraphMAE, reading chosen inside", "GraphMAE, training and reading chosen inside", "GraphMAE, tuned, held",
        "GIN, published", "GraphMAE, published",
    )  # fmt: skip
    out = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name, title in GRAPH_SETS.items():
        ledger = read_ledger(results / f"graph-{name}.json")
        fair = [
            _scores(ledger, "published", "raw", "chosen"),
            _scores(ledger, "published", "wl", "chosen"),
            _scores(ledger, "published", "untrained", "chosen"),
            _scores(ledger, "supervised-gin", "supervised", "best-validation"),
            _scores(ledger, "published", "pretrained", "folds"),
            _scores(ledger, "published", "pretrained", "chosen"),
        ]
        # The tuned training was found with all labels in view: these take no part in the choice of the best row.
        seen = [_nested(ledger, "pretrained"), _scores(ledger, "tuned", "pretrained", "folds")]
        best = max((statistics.fmean(scores) for scores in fair if scores), default=0.0)
        cells = [*(_marked(scores, best) for scores in fair), *map(cell, seen)]
        figures = [published_cell(_published(ledger, key)) for key in ("supervised-gin", "published")]
        out.append(f"| {title} | {' | '.join([*cells, *figures])} |")
    return "\n".join(out)


def graph_gain(results: Path) -> str:
    """Pre-trained against untrained under the same rules, paired over seeds."""
    out = [
        "| | rule | seeds | GraphMAE | untrained | difference (95 %) | p | pre-training helps |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, title in GRAPH_SETS.items():
        ledger = read_ledger(results / f"graph-{name}.json")
        rules = {
            "reading chosen inside": ("published", "chosen"),
            "published reading": ("published", "folds"),
            "tuned training, reading chosen inside": ("tuned", "chosen"),
            "tuned training and reading": ("tuned", "folds"),
        }
        for label, (experiment, rule) in rules.items():
            ours = _scores(ledger, experiment, "pretrained", rule)
            theirs = _scores(ledger, experiment, "untrained", rule)
            if min(len(ours), len(theirs)) > 1:
                seeds = min(len(ours), len(theirs))
                difference, width, p = paired(ours, theirs)
                helps = "not shown" if p >= SIGNIFICANT else "yes" if difference > 0 else "no, it harms"
                values = f"{statistics.fmean(ours[:seeds]):.2f} | {statistics.fmean(theirs[:seeds]):.2f}"
                gap = f"{difference:+.2f} ± {width:.2f}"
                out.append(f"| {title} | {label} | {seeds} | {values} | {gap} | {p_cell(p)} | {helps} |")
    return "\n".join(out)


def molecule_table(results: Path) -> str:
    """ROC-AUC after fine-tuning, and of a linear model on frozen embeddings."""
    rows = {
        "ecfp-linear": ("graphmae", "last", "ECFP, linear"),
        "ecfp-forest": ("graphmae", "last", "ECFP, forest"),
        "frozen-untrained": ("frozen", "last", "untrained, frozen"),
        "scratch": ("graphmae", "last", "from scratch"),
        "frozen": ("frozen", "last", "GraphMAE, frozen"),
        "pretrained-best": ("graphmae", "best-validation", "GraphMAE, best validation epoch"),
        "pretrained": ("graphmae", "last", "GraphMAE, last epoch"),
    }
    out = [
        f"| | seeds | {' | '.join(title for _, _, title in rows.values())} | published |",
        "|---" * (len(rows) + 3) + "|",
    ]
    totals: dict[str, list[float]] = {row: [] for row in rows}
    published = []
    for name, title in MOLECULE_SETS.items():
        ledger = read_ledger(results / f"molecule-{name}.json")
        columns = {}
        for row, (where, rule, _) in rows.items():
            source = where if where in ledger and row in ledger[where].rows else "graphmae"
            columns[row] = _scores(ledger, source, row.removesuffix("-best"), rule)
            if columns[row]:
                totals[row].append(statistics.fmean(columns[row]))
        best = max((statistics.fmean(scores) for scores in columns.values() if scores), default=0.0)
        figure = _published(ledger, "graphmae")
        published += [figure["mean"]] if figure else []
        seeds = len(ledger["graphmae"].seeds) if "graphmae" in ledger else 0
        cells = " | ".join(_marked(_once(scores), best, 1) for scores in columns.values())
        out.append(f"| {title} | {seeds} | {cells} | {published_cell(figure)} |")
    complete = {row: statistics.fmean(means) for row, means in totals.items() if len(means) == len(MOLECULE_SETS)}
    best = max(complete.values(), default=0.0)
    cells = " | ".join(_marked([complete[row]] if row in complete else [], best, 1) for row in rows)
    mean = f"{statistics.fmean(published):.1f}" if len(published) == len(MOLECULE_SETS) else "–"
    return "\n".join([*out, f"| average | | {cells} | {mean} |"])


def provenance(results: Path) -> str:
    """Which file, made by which commit, on what."""
    out = ["| file | experiments | commit | hardware |", "|---|---|---|---|"]
    for path in sorted(results.glob("*.json")):
        if path.name.startswith(("node-", "graph-", "molecule-", "ablation-", "method-")):
            by_source: dict[tuple[str, str], list[str]] = {}
            for name, entry in read_ledger(path).items():
                commits = ", ".join(part[:10] + part[40:] for part in entry.commit.split(", "))
                by_source.setdefault((commits, entry.hardware), []).append(name)
            for (commit, hardware), names in by_source.items():
                listed = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])} and {len(names) - 5} more"
                out.append(f"| {path.name} | {listed} | {commit} | {hardware} |")
    return "\n".join(out)


def _scores(ledger: Ledger, experiment: str, row: str, rule: str) -> list[float]:
    return ledger[experiment].scores(row, rule) if experiment in ledger else []


def _published(ledger: Ledger, experiment: str) -> dict[str, float] | None:
    return ledger[experiment].published if experiment in ledger else None


def _nested(ledger: Ledger, row: str) -> list[float]:
    """Chosen inside each fold: the reading, and which of the trainings (published, tuned) it is of."""
    both = [ledger[name].folds[row] for name in ("published", "tuned") if name in ledger and row in ledger[name].folds]
    return nested(both) if len(both) == 2 else []


def _bold_best(lines: list[tuple[str, list[list[float]]]]) -> list[str]:
    """Rows whose best cell in each column is bold."""
    columns = list(zip(*(cells for _, cells in lines), strict=True))
    best = [max((statistics.fmean(scores) for scores in column if scores), default=0.0) for column in columns]
    return [
        f"| {title} | {' | '.join(_marked(scores, top) for scores, top in zip(cells, best, strict=True))} |"
        for title, cells in lines
    ]


def _marked(scores: list[float], best: float, digits: int = 2) -> str:
    text = cell(scores, digits)
    return f"**{text}**" if scores and abs(statistics.fmean(scores) - best) < 1e-9 else text


def _once(scores: list[float]) -> list[float]:
    """A row that is the same for every seed has no deviation to show."""
    return scores[:1] if len(set(scores)) == 1 else scores
