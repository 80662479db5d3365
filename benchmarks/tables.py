"""Write the tables of the README and the docs from the committed results; a test fails when they differ.

python -m benchmarks.tables
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
ROWS = {
    "raw": "raw features",
    "untrained": "untrained encoder, same shape",
    "supervised": "the same encoder, supervised",
    "pretrained": "**graphmae**",
}
GRAPH_SETS = ("imdb-binary", "imdb-multi", "proteins", "collab", "mutag", "reddit-binary", "nci1")
MOLECULE_SETS = {
    "bbbp": "BBBP",
    "tox21": "Tox21",
    "toxcast": "ToxCast",
    "sider": "SIDER",
    "clintox": "ClinTox",
    "muv": "MUV",
    "hiv": "HIV",
    "bace": "BACE",
}
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
    """Accuracy on the three Planetoid sets, row by row."""
    results = [load(f"node-{name}.json") for name in ("cora", "citeseer", "pubmed")]
    lines = ["| | Cora | CiteSeer | PubMed |", "|---|---|---|---|"]
    for row, title in ROWS.items():
        cells = [_score(result, row) for result in results]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    published = [f"{r['published']['mean']} ± {r['published']['std']}" for r in results]
    return "\n".join([*lines, f"| published | {' | '.join(published)} |"])


def graph_results() -> str:
    """Accuracy on the sets of whole graphs that were run, set by set."""
    lines = [
        "| | raw features, pooled | Weisfeiler–Lehman kernel | untrained encoder | graphmae | published |",
        "|---|---|---|---|---|---|",
    ]
    for name in GRAPH_SETS:
        if (RESULTS / f"graph-{name}.json").is_file():
            result = load(f"graph-{name}.json")
            cells = [_score(result, row) for row in ("raw", "wl", "untrained", "pretrained")]
            published = f"{result['published']['mean']} ± {result['published']['std']}"
            lines.append(f"| {name.upper()} | {' | '.join(cells)} | {published} |")
    return "\n".join(lines)


def molecule_results() -> str:
    """ROC-AUC on the eight MoleculeNet sets, and the average over them."""
    rows = {
        "ecfp-linear": "ECFP, linear",
        "ecfp-forest": "ECFP, forest",
        "scratch": "same GIN from scratch",
        "pretrained": "graphmae",
    }
    lines = [f"| | seeds | {' | '.join(rows.values())} | published |", "|---|---|---|---|---|---|---|"]
    results = [load(f"molecule-{name}.json") for name in MOLECULE_SETS]
    for result, title in zip(results, MOLECULE_SETS.values(), strict=True):
        cells = [_score(result, row, digits=1) for row in rows]
        published = f"{result['published']['mean']} ± {result['published']['std']}"
        lines.append(f"| {title} | {len(result['runs'])} | {' | '.join(cells)} | {published} |")
    means = [sum(_mean(result, row) for result in results) / len(results) for row in rows]
    averages = [f"{mean:.1f}" for mean in means[:-1]] + [f"**{means[-1]:.1f}**"]
    published = sum(result["published"]["mean"] for result in results) / len(results)
    return "\n".join([*lines, f"| average | | {' | '.join(averages)} | {published:.1f} |"])


def own_results() -> str:
    """Graphs nothing was chosen on: the defaults beside raw features, the untrained encoder and a search."""
    columns = {"raw": "raw features", "untrained": "untrained encoder", "pretrained": "graphmae", "tuned": "tuned"}
    lines = [f"| | {' | '.join(columns.values())} |", "|---|---|---|---|---|"]
    for line in load("own-graphs.json"):
        means = {row: sum(line[row]) / len(line[row]) for row in columns}
        cells = [f"**{mean:.1f}**" if row == "pretrained" else f"{mean:.1f}" for row, mean in means.items()]
        lines.append(f"| {line['graph']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(result: Any, row: str) -> float:
    scores = [run["rows"][row][result["rule"]] for run in result["runs"]]
    return sum(scores) / len(scores)


def _score(result: Any, row: str, digits: int = 2) -> str:
    scores, mean = [run["rows"][row][result["rule"]] for run in result["runs"]], _mean(result, row)
    deviation = (sum((s - mean) ** 2 for s in scores) / len(scores)) ** 0.5
    text = f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if deviation or digits > 1 else "")
    return f"**{text}**" if row == "pretrained" else text


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


TABLES = {
    "node-results": node_results,
    "graph-results": graph_results,
    "molecule-results": molecule_results,
    "performance": performance,
    "own-results": own_results,
}
FILES = ("README.md", "docs/own-graph.md")


def written(text: str) -> str:
    """`text` with every block `<!-- name -->` … `<!-- /name -->` filled anew."""
    for name, make in TABLES.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
        text = re.sub(pattern, lambda match, make=make: f"{match[1]}\n{make()}\n{match[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for name in FILES:
        (ROOT / name).write_text(written((ROOT / name).read_text()))
