"""Write papers.csv and citations.csv: a small citation graph as two tables, to try `graphmae pretrain` on.

    python examples/two_tables.py

Papers have an id, a title, a year, a venue, a flag and a topic; some cells are empty, as in life.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

TOPICS = {
    "databases": "query index join transaction storage schema relational optimizer log recovery tuple lock".split(),
    "vision": "image object segmentation detection pixel camera depth texture shape scene motion edge".split(),
    "language": "parsing translation corpus grammar semantics dialogue sentence lexicon tagging discourse word".split(),
    "networks": "routing packet latency wireless congestion protocol topology bandwidth router queue sensor".split(),
    "learning": "gradient kernel bayesian boosting margin regression sampling clustering reward policy tree".split(),
}
COMMON = "towards efficient scalable robust adaptive analysis of for with new approach system evaluation models".split()
VENUES = {
    "databases": ("VLDB", "SIGMOD"),
    "vision": ("CVPR", "ICCV"),
    "language": ("ACL", "COLING"),
    "networks": ("SIGCOMM", "INFOCOM"),
    "learning": ("ICML", "COLT"),
}


def main(folder: Path = Path(), papers: int = 2000, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    topic = rng.integers(len(names), size=papers)
    ids = [f"p{number:05d}" for number in rng.permutation(papers)]
    with (folder / "papers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "year", "venue", "open_access", "topic"])
        for paper, t in zip(ids, topic, strict=True):
            own = rng.choice(TOPICS[names[t]], size=1)
            other = [rng.choice(TOPICS[names[rng.integers(len(names))]]) for _ in range(2)]
            title = rng.permutation([*own, *other, *rng.choice(COMMON, size=4, replace=False)])
            elsewhere = rng.random() < 0.7
            venue = VENUES[names[rng.integers(len(names)) if elsewhere else t]][rng.integers(2)]
            year = "" if rng.random() < 0.05 else 1995 + int(rng.integers(25))
            writer.writerow([paper, " ".join(title), year, venue, rng.choice(["yes", "no"]), names[t]])
    with (folder / "citations.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["citing", "cited"])
        for i in range(papers):
            for _ in range(3):
                alike = np.flatnonzero(topic == topic[i]) if rng.random() < 0.7 else np.arange(papers)
                writer.writerow([ids[i], ids[rng.choice(alike)]])


if __name__ == "__main__":
    main()
