"""A graph larger than memory through every stage, each a command of its own, its resident memory watched."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

PAGE = os.sysconf("SC_PAGESIZE")
WIDTH = 64  # of the encoder: 10 million rows of 64 numbers are 2.4 GiB
STEPS = 1000


def resident(root: int) -> int:
    """Bytes of a process and all it has started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
        except OSError:
            continue
    return total


def watched(command: list[str], log: Path) -> dict[str, Any]:
    """Run a command; its seconds and the most resident memory, looked at five times a second."""
    began, most = time.monotonic(), 0
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        while process.poll() is None:
            most = max(most, resident(process.pid))
            time.sleep(0.2)
    shown = " ".join(["graphmae", *command[3:]]).replace(f"{Path.cwd()}/", "")
    found: dict[str, Any] = {
        "command": shown,
        "load": round(os.getloadavg()[1], 1),
        "seconds": round(time.monotonic() - began, 1),
    }
    found["peak_resident_gib"] = round(most / 2**30, 3)
    if process.returncode:
        raise RuntimeError(f"{command} failed:\n{log.read_text()[-3000:]}")
    print(json.dumps(found), flush=True)
    return found


def big(options: argparse.Namespace) -> dict[str, Any]:
    """Tables → store → 1,000 steps → every embedding."""
    from benchmarks.generated import write_tables

    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    out: dict[str, Any] = {"nodes": options.nodes, "edge_rows": options.rows, "features": options.features}
    if not (folder / "edges.parquet").is_file():
        began = time.monotonic()
        sizes = write_tables(folder, options.nodes, options.rows, options.features)
        out["generated"] = {"seconds": round(time.monotonic() - began, 1), "bytes": sizes}
        print(json.dumps(out), flush=True)
    graphmae = [sys.executable, "-m", "graphmae"]
    tables = [str(folder / "nodes.parquet"), str(folder / "edges.parquet")]
    store, run, z = folder / ("store-alone" if options.only_store else "store"), folder / "run", folder / "z.npy"
    out["store"] = watched(
        [*graphmae, "store", *tables, "--dtype", "float16", "--out", str(store)], folder / "store.log"
    )
    header = json.loads((store / "header.json").read_text())
    directed = header["edges"]
    out["directed_edges"] = directed
    out["store"] |= _speeds((folder / "store.log").read_text(), out["store"]["seconds"], options.rows, directed)
    if options.only_store:
        return out
    changes = [f"train.steps={STEPS}", "train.epochs=1", f"encoder.hidden_channels={WIDTH}", "train.batch_size=256"]
    settings = [part for change in changes for part in ("--set", change)]
    out["pretrain"] = watched(
        [*graphmae, "pretrain", str(store), *settings, "--out", str(run)], folder / "pretrain.log"
    )
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    out["pretrain"] |= {"steps": STEPS, "training_seconds": round(line["seconds"], 1), "waited": line.get("waited")}
    out["pretrain"] |= {"loss": round(line["loss"], 4), "steps_per_second": round(STEPS / line["seconds"], 2)}
    out["embed"] = watched([*graphmae, "embed", str(run), str(store), "-o", str(z)], folder / "embed.log")
    found = np.load(z, mmap_mode="r")
    out["embed"] |= {"shape": list(found.shape), "nodes_per_second": round(len(found) / out["embed"]["seconds"])}
    stages = ("store", "pretrain", "embed")
    out["most_resident_gib"] = max(out[stage]["peak_resident_gib"] for stage in stages)
    out["under_8_gb"] = all(out[stage]["peak_resident_gib"] * 2**30 < 8e9 for stage in stages)
    return out


def _speeds(log: str, seconds: float, rows: int, directed: int) -> dict[str, Any]:
    """Of the whole command, and of the edges alone where it wrote how long they took."""
    found: dict[str, Any] = {"edge_rows_per_second_of_all": round(rows / seconds)}
    if said := re.search(r"edges: [\d,]+ rows read and sorted into ([\d,]+) in ([\d.]+) s", log):
        found["edge_seconds"] = float(said[2])
        found["edge_rows_per_second"] = round(rows / float(said[2]))
        found["directed_edges_per_second"] = round(directed / float(said[2]))
    return found
