"""How the time of a step grows with the number of edges, at fixed width: the slope on a log–log scale.

python -m benchmarks.growth --device cpu --most 1e6
"""

from __future__ import annotations

import argparse
import json
import math

import torch

import graphmae as gm
from benchmarks.works import Work, sized
from graphmae.runtime.environment import commit, hardware

DEGREE, CHANNELS = 10, 64


def slope(edges: list[int], seconds: list[float]) -> float:
    """Least squares through (log edges, log seconds)."""
    x, y = [math.log(e) for e in edges], [math.log(s) for s in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--least", type=float, default=1e4)
    parser.add_argument("--most", type=float, default=1e7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    recipe = gm.recipe("default", "encoder.hidden_channels=64", "encoder.heads=4")
    edges, seconds = [], []
    count = options.least
    while count <= options.most * 1.01:
        shape = (int(count) // DEGREE, int(count), CHANNELS)
        epochs = max(3, min(40, int(4e6 / count)))
        edges.append(int(count))
        seconds.append(Work("sized", recipe, lambda shape=shape: sized(*shape)).ours(device)(epochs + 3, 3))
        if not options.json:
            print(f"{int(count):>10} edges {1e3 * seconds[-1]:10.2f} ms", flush=True)
        sized.cache_clear()
        count *= math.sqrt(10)
    found = {"device": hardware(str(device)), "edges": edges, "seconds": seconds, "slope": slope(edges, seconds)}
    found["commit"] = commit()
    found["slope_of_large"] = slope(edges[-3:], seconds[-3:])
    print(
        json.dumps(found)
        if options.json
        else f"slope {found['slope']:.3f}, of the three largest {found['slope_of_large']:.3f}"
    )


if __name__ == "__main__":
    main()
