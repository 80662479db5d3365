"""Run recipes over many seeds, several at a time on one device, and keep their result.json.

    python -m benchmarks.reproduce node/cora node/citeseer node/pubmed --seeds 0-19 --jobs 6 --out runs/full

The same as `graphmae run` on each; `--keep DIR` copies each result.json there as node-cora.json.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from graphmae import api
from graphmae.cli.options import parse_seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--seeds", default="0-19")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="runs/full")
    parser.add_argument("--keep", default=None)
    parser.add_argument("--suffix", default="", help="added to the names in --keep")
    parser.add_argument("--data", default=None)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    for recipe in options.recipes:
        name = recipe.replace("/", "-")
        folder = Path(options.out) / name
        result = api.run(
            recipe,
            parse_seeds(options.seeds),
            folder,
            overrides=options.overrides,
            data_root=options.data,
            device=options.device,
            resume=(folder / "recipe.json").exists(),
            jobs=options.jobs,
            progress=False,
        )
        print(recipe, f"{result.mean:.2f} ± {result.std:.2f}", f"{result.seconds:.0f} s over all seeds", flush=True)
        if options.keep:
            Path(options.keep).mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / "result.json", Path(options.keep) / f"{name}{options.suffix}.json")


if __name__ == "__main__":
    main()
