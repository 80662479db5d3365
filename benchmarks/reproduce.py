"""Run recipes over many seeds, several at a time on one device, and keep their result.json.

    python -m benchmarks.reproduce node/cora node/citeseer node/pubmed --seeds 0-19 --workers 6 --out runs/full

Every seed runs through `graphmae run`'s own code (`experiment.run`), in a process of its own; the last step gathers
them as `--resume` would. `--keep DIR` copies each result.json there as node-cora.json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
from pathlib import Path

from graphmae.cli.options import parse_seeds


def one_seed(job: tuple[str, tuple[str, ...], int, str, str | None, str]) -> tuple[str, str]:
    import torch

    from graphmae import api

    recipe, overrides, seed, out, data, device = job
    torch.set_num_threads(1 if device.startswith("cuda") else torch.get_num_threads())
    result = api.run(
        recipe, [seed], out, overrides=overrides, data_root=data, device=device, resume=True, progress=False
    )
    return recipe, f"{recipe} seed {seed}: {result.scores[0]:.1f} in {result.seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--seeds", default="0-19")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", default="runs/full")
    parser.add_argument("--keep", default=None)
    parser.add_argument("--suffix", default="", help="added to the names in --keep")
    parser.add_argument("--data", default=None)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()

    from graphmae import api, experiment

    seeds, overrides = parse_seeds(options.seeds), tuple(options.overrides)
    folders = {recipe: Path(options.out) / recipe.replace("/", "-") for recipe in options.recipes}
    for recipe, folder in folders.items():
        settings = api.recipe(recipe, *overrides).to_dict()
        experiment.claim_folder(folder, settings, resume=(folder / "recipe.json").exists())
    jobs = [(r, overrides, s, str(folders[r]), options.data, options.device) for r in options.recipes for s in seeds]
    waiting = dict.fromkeys(options.recipes, len(seeds))
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for recipe, line in pool.imap_unordered(one_seed, jobs):
            print(line, flush=True)
            waiting[recipe] -= 1
            if not waiting[recipe]:
                gather(recipe, overrides, seeds, folders[recipe], options)


def gather(
    recipe: str, overrides: tuple[str, ...], seeds: list[int], folder: Path, options: argparse.Namespace
) -> None:
    """All seeds are there: one result.json over them."""
    from graphmae import api

    result = api.run(
        recipe, seeds, folder, overrides=overrides, data_root=options.data, device=options.device, resume=True
    )
    print(recipe, f"{result.mean:.2f} ± {result.std:.2f}", result.summary()["baselines"].keys(), flush=True)
    if options.keep:
        Path(options.keep).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "result.json", Path(options.keep) / f"{recipe.replace('/', '-')}{options.suffix}.json")


if __name__ == "__main__":
    main()
