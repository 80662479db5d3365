"""Time of one epoch of pre-training, ours against stock PyG, in the same process, alternating.

    python -m benchmarks.step --work cora,pubmed --device cpu
    python -m benchmarks.step --work all --device cuda --json > benchmarks/results/step-cuda.json

Every round runs stock, then ours; a line gives the medians over the rounds, their spread and the peak memory. On CUDA
memory is what each implementation had allocated; on the CPU it is the resident memory of a process that does nothing
else. A data set that is not in GRAPHMAE_DATA and cannot be downloaded is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

import torch

from benchmarks.works import WORKS, Work, dense_seconds
from graphmae.runtime.environment import commit, hardware, peak_bytes, versions
from graphmae.runtime.errors import GraphMAEError

ROUNDS = 3
# (epochs to warm up, epochs to time) of (ours, stock), for works that take long or short.
LENGTHS = {
    "cpu": {"default": ((2, 6), (1, 3)), "pubmed": ((1, 3), (1, 1)), "imdb-b": ((1, 2), (1, 2)),
            "nci1": ((1, 1), (1, 1)), "molecules": ((1, 1), (1, 1)), "arxiv": ((1, 1), (1, 1))},
    "cuda": {"default": ((20, 200), (10, 40)), "pubmed": ((20, 80), (5, 10)), "arxiv": ((8, 8), (3, 3)),
             "imdb-b": ((3, 4), (1, 1)), "nci1": ((3, 4), (1, 1)), "molecules": ((3, 6), (1, 1))},
}  # fmt: skip


def measure(work: Work, device: torch.device, rounds: int) -> dict[str, Any]:
    """One line of the table."""
    lengths = LENGTHS[device.type]
    (warm, ours_epochs), (stock_warm, stock_epochs) = lengths.get(work.name, lengths["default"])
    ours, stock = work.ours(device), work.stock(device)
    times: dict[str, list[float]] = {"ours": [], "stock": []}
    peaks = {"ours": 0, "stock": 0}
    for _ in range(rounds):
        for name, run, length in (
            ("stock", stock, (stock_epochs + stock_warm, stock_warm)),
            ("ours", ours, (ours_epochs + warm, warm)),
        ):
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats(device)
                before = torch.cuda.memory_allocated(device)
            times[name].append(run(*length))
            if device.type == "cuda":
                peaks[name] = max(peaks[name], torch.cuda.max_memory_allocated(device) - before)
    if device.type == "cpu":
        peaks = {name: resident(work.name, name) for name in peaks}
    stock_ms, ours_ms = (1e3 * statistics.median(times[name]) for name in ("stock", "ours"))
    line = {
        "work": work.name,
        "device": hardware(str(device)),
        "stock_ms": stock_ms,
        "ours_ms": ours_ms,
        "ratio": ours_ms / stock_ms,
        "spread": max(max(t) / min(t) - 1 for t in times.values()),
        "stock_bytes": peaks["stock"],
        "ours_bytes": peaks["ours"],
        "rounds": rounds,
        "versions": versions(),
        "commit": commit(),
    }
    if work.graphs_an_epoch:
        line["stock_graphs_per_second"], line["ours_graphs_per_second"] = (
            1e3 * work.graphs_an_epoch / ms for ms in (stock_ms, ours_ms)
        )
    if device.type == "cpu" and (products := dense_seconds(work)) is not None:
        line["dense_products_ms"] = 1e3 * products
    return line


def resident(work: str, implementation: str) -> int:
    """Peak resident bytes of two epochs in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.step", "--work", work, "--only", implementation]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def table(lines: list[dict[str, Any]]) -> str:
    """The lines for people."""
    rows = [("work", "stock", "ours", "ours / stock", "spread", "stock memory", "our memory")]
    for line in lines:
        rows.append(
            (
                line["work"], f"{line['stock_ms']:.1f} ms", f"{line['ours_ms']:.2f} ms", f"1/{1 / line['ratio']:.1f}",
                f"{100 * line['spread']:.0f} %", f"{line['stock_bytes'] / 2**30:.2f} GiB",
                f"{line['ours_bytes'] / 2**30:.2f} GiB",
            )
        )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="all", help=f"all, or some of {', '.join(WORKS)}, with commas between")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print one list of objects instead of a table")
    parser.add_argument("--only", choices=["ours", "stock"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = list(WORKS) if options.work == "all" else options.work.split(",")
    if unknown := [name for name in names if name not in WORKS]:
        parser.error(f"unknown work {', '.join(unknown)}; there are {', '.join(WORKS)}")
    if options.work == "all" and options.device == "cpu":
        names.remove("arxiv")  # several minutes a step
    if options.only:
        getattr(WORKS[names[0]], options.only)(torch.device("cpu"))(2, 1)
        print(peak_bytes("cpu"))
        return
    lines = []
    for name in names:
        try:
            lines.append(measure(WORKS[name], torch.device(options.device), options.rounds))
        except GraphMAEError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        if not options.json:
            print(table(lines[-1:]) if len(lines) == 1 else table(lines[-1:]).splitlines()[1], flush=True)
    if options.json:
        print(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
