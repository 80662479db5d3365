"""Link prediction, methods beside each other: 85 / 5 / 10 % of the edges.

    python -m benchmarks.links cora citeseer --seeds 0-1

Scores are added to benchmarks/results/links.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import graphmae as gm
from graphmae.cli.options import parse_seeds
from graphmae.runtime.environment import commit, hardware

OUT = Path(__file__).parent / "results/links.json"
TITLES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
METHODS = {
    "GAE": "gae/{}",
    "MaskGAE (published width)": "maskgae/{}",
    "MaskGAE (default-links)": "auto",
    "GraphMAE": "node/{}",
    "GraphMAE + edges": "joint/{}",
}
ROWS = {"adamic-adar": "shared neighbours", "raw": "raw features"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", choices=list(TITLES))
    parser.add_argument("--seeds", default="0-1")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    seeds = parse_seeds(options.seeds)
    for name in options.sets:
        for title in options.methods.split(","):
            result = gm.links(name, METHODS[title].format(name), seeds, device=options.device)
            known = json.loads(OUT.read_text()) if OUT.exists() else {"sets": {}}
            scores = known["sets"].setdefault(TITLES[name], {})
            for row, label in {**ROWS, "pretrained": title}.items():
                if row == "pretrained" or label not in scores:
                    keys = ("roc-auc", "average-precision")
                    scores[label] = {key: [round(value, 2) for value in result.column(row, key)] for key in keys}
                    scores[label] |= {"seeds": seeds, "commit": commit(), "hardware": hardware(options.device)}
            OUT.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
            print(name, title, scores[title])


if __name__ == "__main__":
    main()
