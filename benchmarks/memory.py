"""Peak memory of pre-training, ours against stock PyG: the same works and lines as `benchmarks.step`, memory first.

python -m benchmarks.memory --work cora,arxiv --device cuda
"""

from __future__ import annotations

import argparse
import json

import torch

from benchmarks.step import measure
from benchmarks.works import WORKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="cora,citeseer,pubmed")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if unknown := [name for name in options.work.split(",") if name not in WORKS]:
        parser.error(f"unknown work {', '.join(unknown)}; there are {', '.join(WORKS)}")
    lines = [measure(WORKS[name], torch.device(options.device), rounds=1) for name in options.work.split(",")]
    if options.json:
        print(json.dumps(lines, indent=1))
        return
    for line in lines:
        stock, ours = (line[f"{name}_bytes"] / 2**30 for name in ("stock", "ours"))
        print(f"{line['work']:12} stock {stock:6.2f} GiB   ours {ours:6.2f} GiB   ours / stock {ours / stock:.2f}")


if __name__ == "__main__":
    main()
