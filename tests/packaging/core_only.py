"""graphmae as a wheel with its core dependencies alone: run by `make wheel` in an environment without anything else.

Two tables become embeddings and a score, and every optional part that is missing answers with its install line.
A plain script, as that environment has no pytest.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

EXTRAS = {
    "mol": "rdkit", "report": "matplotlib", "tune": "optuna", "tensorboard": "tensorboard", "hub": "huggingface_hub",
    "excel": "openpyxl",
}  # fmt: skip


def tables(folder: Path) -> tuple[str, str]:
    topics = ["a", "b"]
    nodes = ["id,words,topic"] + [f"n{i},word{i % 2} word{i % 7},{topics[i % 2]}" for i in range(80)]
    edges = ["source,target"] + [f"n{i},n{(i + step) % 80}" for i in range(80) for step in (2, 4)]
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")
    (folder / "molecules.smi").write_text("CCO\nCCN\n")
    (folder / "nodes.xlsx").write_bytes(b"PK\x03\x04")
    return "nodes.csv", "edges.csv"


def graphmae(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmae", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def main() -> int:
    folder = Path(tempfile.mkdtemp())
    nodes, edges = tables(folder)
    works = [
        ("pretrain", nodes, edges, "--label", "topic", "--epochs", "3", "--out", "run"),
        ("embed", "run", nodes, edges, "-o", "z.parquet"),
        ("evaluate", "run", nodes, edges, "--label", "topic"),
        ("report", "run", "-o", "report.html"),
        ("doctor",),
    ]
    missing = {
        "mol": ("pretrain", "molecules.smi", "--out", "m"),
        "report": ("report", "run", "--figures", "figures"),
        "tune": ("tune", nodes, edges, "--label", "topic", "--trials", "1"),
        "tensorboard": ("pretrain", nodes, edges, "--label", "topic", "--set", "train.tensorboard=true", "--out", "t"),
        "hub": ("embed", "hf:someone/something", nodes, edges, "-o", "h.npy"),
        "excel": ("pretrain", "nodes.xlsx", edges, "--out", "x"),
    }
    failed = [
        f"{name} is installed: this is for an environment without extras"
        for name in EXTRAS.values()
        if importlib.util.find_spec(name)
    ]
    for arguments in works:
        done = graphmae(folder, *arguments)
        if done.returncode:
            failed.append(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    for extra, arguments in missing.items():
        done = graphmae(folder, *arguments)
        line = f"pip install 'graphmae[{extra}]'"
        if done.returncode != 2 or line not in done.stderr or "Traceback" in done.stderr:
            failed.append(f"{' '.join(arguments)}: exit code {done.returncode} without {line!r}\n{done.stderr}")
    count = len(EXTRAS) + len(works) + len(missing)
    sys.stderr.writelines(f"{problem}\n" for problem in failed)
    sys.stdout.write(f"{count - len(failed)} passed, {len(failed)} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
