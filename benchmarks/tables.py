"""Write the tables of the README and the docs from the committed results; a test fails when they differ.

python -m benchmarks.tables
"""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from graphmae.reporting import read_ledger
from graphmae.reporting.figures import figures
from graphmae.reporting.ledger import published_cell
from graphmae.reporting.results_page import blocks
from graphmae.results import deviation

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
WORKS = {
    "cora": "Cora recipe",
    "citeseer": "CiteSeer recipe",
    "pubmed": "PubMed recipe",
    "imdb-b": "IMDB-BINARY, batches of 32",
    "nci1": "NCI1, batches of 16",
    "arxiv": "graph of ogbn-arxiv's size, 3 × 1024",
    "molecules": "8,192 molecules, GIN 5 × 300, batches of 256",
}


def load(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def node_results() -> str:
    """The README's short table: nodes."""
    sets = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
    ledgers = [read_ledger(RESULTS / f"node-{name}.json") for name in sets]
    rows = {
        "raw features": ("graphmae", "raw", "last"),
        "untrained encoder": ("graphmae", "untrained", "last"),
        "supervised GAT": ("supervised-gat", "supervised", "best-validation"),
        "GraphMAE": ("graphmae", "pretrained", "last"),
    }
    lines = [f"| | {' | '.join(sets.values())} |", "|---|---|---|---|"]
    means = {title: [entry[which].mean(row, rule) for entry in ledgers] for title, (which, row, rule) in rows.items()}
    for title, (which, row, rule) in rows.items():
        cells = [_short(entry[which].scores(row, rule), _best(means, column)) for column, entry in enumerate(ledgers)]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    published = [published_cell(entry["graphmae"].published) for entry in ledgers]
    return "\n".join([*lines, f"| GraphMAE, published | {' | '.join(published)} |"])


def _best(means: dict[str, list[float]], column: int) -> float:
    return max(values[column] for values in means.values())


def _short(scores: list[float], best: float, digits: int = 1) -> str:
    """Mean ± deviation; bold where it is the best."""
    mean = sum(scores) / len(scores)
    text = f"{mean:.{digits}f}" + (f" ± {deviation(scores):.{digits}f}" if len(set(scores)) > 1 else "")
    return f"**{text}**" if abs(mean - best) < 1e-9 else text


def own_results() -> str:
    """The defaults on small and synthetic graphs, beside what needs no training."""
    columns = {"raw": "raw features", "propagated": "averaged over two hops", "untrained": "untrained encoder"}
    columns["pretrained"] = "graphmae"
    lines = [f"| | {' | '.join(columns.values())} |", "|---|---|---|---|---|"]
    for line in load("own-graphs.json"):
        means = {row: sum(line[row]) / len(line[row]) for row in columns}
        best = max(means.values())
        cells = [f"**{mean:.1f}**" if best - mean < 0.05 else f"{mean:.1f}" for mean in means.values()]
        lines.append(f"| {line['graph']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def worth_classes() -> str:
    """Accuracy of the defaults on six real graphs, beside what a user could do in ten lines."""
    found = load("worth.json")["classes"]
    rows = list(next(iter(found.values()))["random"])
    lines = [f"| | {' | '.join(rows)} | seconds |", "|---" * (len(rows) + 2) + "|"]
    for kind, title in (("random", ""), ("published", ", published splits")):
        for name, scores in found.items():
            if kind in scores:
                means = [sum(scores[kind][row]) / len(scores[kind][row]) for row in rows]
                cells = [f"**{mean:.1f}**" if mean == max(means) else f"{mean:.1f}" for mean in means]
                few = len(scores[kind]["raw"])
                which = f"{name}{title}{'' if few == 10 else f' ({few} splits)'}"
                lines.append(f"| {which} | {' | '.join(cells)} | {scores['seconds']:.0f} |")
    return "\n".join(lines)


def worth_links() -> str:
    """ROC-AUC of held-out edges on the same graphs."""
    found = load("worth.json")["links"]
    if not found:
        return "Not run yet."
    rows = list(next(iter(found.values()))["uniform"])
    lines = [f"| | pairs | {' | '.join(rows)} | seconds |", "|---" * (len(rows) + 3) + "|"]
    for name, scores in found.items():
        for kind in ("uniform", "hard"):
            means = [scores[kind][row] for row in rows]
            cells = [f"**{mean:.1f}**" if mean == max(means) else f"{mean:.1f}" for mean in means]
            lines.append(f"| {name} | {kind} | {' | '.join(cells)} | {scores['seconds']:.0f} |")
    return "\n".join(lines)


def criterion() -> str:
    """Rank correlation, over settings, of what is measured without labels with accuracy; and the default."""
    found = load("criterion.json")
    names = list(next(iter(next(iter(found.values()))["settings"].values()))["measures"])
    scores = ("lowest", "highest", "best on validation", "default")
    lines = ["| | settings | " + " | ".join([*names, *scores]) + " |", "|---" * (len(names) + len(scores) + 2) + "|"]
    for graph, known in found.items():
        settings = list(known["settings"].values())
        test = [one["embedding test"] for one in settings]
        ranks = [spearmanr([one["measures"][name] for one in settings], test)[0] for name in names]
        best = max(settings, key=lambda one: one["embedding validation"])["embedding test"]
        default = known["settings"][known["default"]]["embedding test"]
        cells = [f"{rank:.2f}" for rank in ranks]
        cells += [f"{score:.1f}" for score in (min(test), max(test), best, default)]
        lines.append(f"| {graph} | {len(settings)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def performance() -> str:
    """Time of an epoch and peak memory, ours against stock PyG."""
    lines = []
    for name in ("step-cpu.json", "step-cuda.json"):
        measured = load(name)
        lines += [
            f"| {measured[0]['device']} | stock PyG | graphmae | | memory, stock | memory, graphmae |",
            "|---|---|---|---|---|---|",
        ]
        for line in measured:
            times = f"{_time(line['stock_ms'])} | {_time(line['ours_ms'])} | **{1 / line['ratio']:.1f} ×**"
            memory = f"{_size(line['stock_bytes'])} | {_size(line['ours_bytes'])}"
            lines.append(f"| {WORKS[line['work']]} | {times} | {memory} |")
        lines.append("")
    return "\n".join(lines[:-1])


def _time(ms: float) -> str:
    return f"{ms / 1e3:.2f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 100 else f"{ms:.2f} ms"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def links_table() -> str:
    """ROC-AUC and average precision of held-out edges."""
    known = load("links.json")["sets"]
    rows = list(dict.fromkeys(row for scores in known.values() for row in scores))
    out = [f"| | {' | '.join(known)} |", "|---" * (len(known) + 1) + "|"]
    for row in rows:
        cells = []
        for scores in known.values():
            found = scores.get(row)
            both = [statistics.fmean(found[key]) for key in ("roc-auc", "average-precision")] if found else []
            cells.append(f"{both[0]:.1f} ({both[1]:.1f})" if both else "–")
        out.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(out)


def predicted_links() -> str:
    """Edges taken away that are among the predicted links."""
    heads = ("highest", "as the scores say", "held-out edges", "without a model", "Adamic–Adar", "random pairs")
    rows = ("share of held-out edges", "the same without a model", "Adamic–Adar")
    lines = [f"| | {' | '.join(heads)} |", "|---|---|---|---|---|---|---|"]
    for name, found in load("answers.json")["links"].items():
        for k, promised in found["promised by the scores"].items():
            best = max(found[row][k] for row in rows)
            cells = [f"**{found[row][k]} %**" if found[row][k] == best else f"{found[row][k]} %" for row in rows]
            text = f"{promised} % | {' | '.join(cells)} | {found['random pairs']:.2f} %"
            lines.append(f"| {name.capitalize()} | {k} | {text} |")
    return "\n".join(lines)


def planted_anomalies() -> str:
    """ROC-AUC of planted nodes, and rank correlations that should be 0."""
    titles = ("features", "neighbours", "rank correlation with degree", "rank correlation with content")
    heads = ("features of another node", "other neighbours", *titles[2:])
    lines = [f"| | | {' | '.join(heads)} |", "|---|---|---|---|---|---|"]
    for name, rows in load("answers.json")["anomalies"].items():
        for row, label in {
            "corrected": "`anomalies`", "the same without a model": "without a model",
            "reconstruction error alone": "reconstruction error",
        }.items():  # fmt: skip
            cells = [f"{rows[row][title]:+.2f}" if "rank" in title else f"{rows[row][title]}" for title in titles]
            lines.append(f"| {name.capitalize()} | {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def planted_cells() -> str:
    """How good filled cells are where they were emptied on purpose."""
    found = load("answers.json")["cells"]["narrow"]
    lines = ["| | | filled by | on emptied cells | reported | simple fill |", "|---|---|---|---|---|---|"]
    for name, what in {
        "kind": "the product's class", "price": "made from the class", "noise": "random numbers", "coin": "random words"
    }.items():  # fmt: skip
        row = found[name]
        simple = "the mean" if row["metric"] == "R²" else "the most frequent value"
        numbers = " | ".join(f"{row[key] + 0.0:.2f}" for key in ("on planted cells", "reported", "simple fill"))
        by = "the model" if row["by the model"] else simple
        lines.append(f"| {name} | {what}, {row['metric']} | {by} | {numbers} |")
    return "\n".join(lines)


def method_times() -> str:
    """Seconds of a pre-training on Cora, every method with its recipe."""
    found = load("times-of-methods.json")
    names = {"node": "GraphMAE", "joint": "GraphMAE + edges", "graphmae2": "GraphMAE2", "maskgae": "MaskGAE"}
    names["bgrl-512"] = "BGRL, 512 and 256 wide"
    cells = [names.get(name, name.upper()) for name in found]
    lines = [f"| | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
    for key in ("epochs", "seconds"):
        lines.append(f"| {key} | {' | '.join(f'{run[key]:.0f}' for run in found.values())} |")
    return "\n".join(lines)


TABLES = {
    "method-times": method_times,
    "predicted-links": predicted_links,
    "planted-anomalies": planted_anomalies,
    "planted-cells": planted_cells,
    "links-table": links_table,
    "node-results": node_results,
    "performance": performance,
    "own-results": own_results,
    "worth-classes": worth_classes,
    "worth-links": worth_links,
    "criterion": criterion,
}
FILES = ("README.md", "docs/own-graph.md", "docs/results.md", "docs/methods.md", "docs/performance.md")
FIGURES = ROOT / "docs/figures"


def written(text: str) -> str:
    """`text` with every block `<!-- name -->` … `<!-- /name -->` filled anew."""
    for name, table in ({name: make() for name, make in TABLES.items()} | blocks(RESULTS)).items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text = re.sub(pattern, lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for name in FILES:
        (ROOT / name).write_text(written((ROOT / name).read_text()))
    FIGURES.mkdir(exist_ok=True)
    for name, figure in figures(RESULTS).items():
        (FIGURES / name).write_text(figure)
