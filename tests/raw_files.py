"""Small data sets written in the raw layouts of the real ones."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def write_planetoid(root: Path, name: str = "Cora", gap: bool = False) -> Path:
    """40 training-range nodes, 12 test nodes; with `gap` one node number of the test range is missing."""
    rng = np.random.default_rng(0)
    folder = root / "Planetoid" / name / "raw"
    folder.mkdir(parents=True)
    known, tested, words, classes = 520, 12, 30, 3
    test_index = known + rng.permutation(tested + gap)
    test_index = test_index[test_index != known + 3] if gap else test_index
    allx = sp.csr_matrix((rng.random((known, words)) < 0.3).astype(np.float32))
    tx = sp.csr_matrix((rng.random((len(test_index), words)) < 0.3).astype(np.float32))
    ally, ty = np.eye(classes)[np.arange(known) % classes], np.eye(classes)[np.arange(len(test_index)) % classes]
    graph = defaultdict(list)
    for i in range(known + tested + gap):
        graph[i].append((i + 1) % (known + tested + gap))
    graph[0] += [0, 1]  # a self-loop and an edge given twice
    parts = {"x": allx[:20], "y": ally[:20], "tx": tx, "ty": ty, "allx": allx, "ally": ally, "graph": graph}
    for suffix, value in parts.items():
        payload = pickle.dumps(value, protocol=2, fix_imports=True)
        # Modern module paths → the ones of the real, ten-year-old files.
        payload = payload.replace(b"cscipy.sparse._csr\n", b"cscipy.sparse.csr\n")
        payload = payload.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
        (folder / f"ind.{name.lower()}.{suffix}").write_bytes(payload)
    (folder / f"ind.{name.lower()}.test.index").write_text("".join(f"{i}\n" for i in test_index))
    return folder


def write_arxiv(root: Path, nodes: int = 60) -> Path:
    rng = np.random.default_rng(0)
    folder = root / "ogbn_arxiv"
    (folder / "raw").mkdir(parents=True)
    (folder / "split/time").mkdir(parents=True)

    def table(name: str, rows: np.ndarray, fmt: str) -> None:
        with gzip.open(folder / name, "wt") as file:
            np.savetxt(file, rows, delimiter=",", fmt=fmt)

    table("raw/node-feat.csv.gz", rng.normal(3, 2, (nodes, 8)), "%.6f")
    table("raw/node-label.csv.gz", np.arange(nodes).reshape(-1, 1) % 4, "%d")
    table("raw/edge.csv.gz", rng.integers(0, nodes, (200, 2)), "%d")
    for name, part in (("train", range(30)), ("valid", range(30, 45)), ("test", range(45, nodes))):
        table(f"split/time/{name}.csv.gz", np.array(part).reshape(-1, 1), "%d")
    return folder


def write_ppi(root: Path) -> Path:
    rng = np.random.default_rng(0)
    folder = root / "PPI" / "raw"
    folder.mkdir(parents=True)
    first = 1
    for name, graphs in (("train", 3), ("valid", 2), ("test", 2)):
        graph_id = np.repeat(np.arange(first, first + graphs), 10)
        n = len(graph_id)
        links = [{"source": i, "target": int(10 * (i // 10) + rng.integers(10))} for i in range(n) for _ in range(3)]
        np.save(folder / f"{name}_feats.npy", rng.normal(size=(n, 6)))
        np.save(folder / f"{name}_labels.npy", (rng.random((n, 5)) < 0.4).astype(np.int64))
        np.save(folder / f"{name}_graph_id.npy", graph_id)
        graph = {
            "directed": False,
            "multigraph": False,
            "graph": {},
            "nodes": [{"id": i} for i in range(n)],
            "links": links,
        }
        (folder / f"{name}_graph.json").write_text(json.dumps(graph))
        first += graphs
    return folder


def write_reddit(root: Path, nodes: int = 90) -> Path:
    rng = np.random.default_rng(0)
    folder = root / "Reddit" / "raw"
    folder.mkdir(parents=True)
    role = np.repeat([1, 2, 3], nodes // 3)
    feature = rng.normal(5, 3, (nodes, 7)) + 100 * (role == 3)[:, None]  # test posts lie elsewhere
    np.savez(
        folder / "reddit_data.npz",
        feature=feature,
        label=np.arange(nodes) % 3,
        node_types=role,
        node_ids=np.arange(nodes),
    )
    edges = rng.integers(0, nodes, (2, 300))
    both = np.concatenate([edges, edges[::-1]], axis=1)
    sp.save_npz(folder / "reddit_graph.npz", sp.coo_matrix((np.ones(both.shape[1]), both), shape=(nodes, nodes)))
    return folder


def write_rings_and_stars(folder: Path, count: int = 60, classes: tuple[int, int] = (-1, 1)) -> Path:
    """Rings and stars of 3 to 8 nodes: the class is the shape, the node labels are noise."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    edges, owner, labels, kinds = [], [], [], []
    first = 1
    for g in range(count):
        n, ring = int(random.integers(3, 9)), g % 2 == 0
        pairs = [(i, (i + 1) % n) for i in range(n)] if ring else [(0, i) for i in range(1, n)]
        edges += [f"{first + a}, {first + b}\n{first + b}, {first + a}\n" for a, b in pairs]
        owner += [f"{g + 1}\n"] * n
        kinds += [f"{k}\n" for k in random.integers(0, 3, n)]
        labels.append(f"{classes[0] if ring else classes[1]}\n")
        first += n
    for part, lines in (("A", edges), ("graph_indicator", owner), ("graph_labels", labels), ("node_labels", kinds)):
        (folder / f"SHAPES_{part}.txt").write_text("".join(lines))
    return folder
