"""The same seed gives the same bits: the first training of a process and the next, with one thread and with two."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import hashlib
import torch
import graphmae as gm

data = gm.data.load("synthetic", num_nodes=200).graphs[0]
for _ in range(2):
    model = gm.GraphMAEEmbedder(epochs=2, overrides=["encoder.hidden_channels=16", "encoder.heads=2"]).fit(data)
    print(torch.get_num_threads(), hashlib.sha256(model.transform(data).tobytes()).hexdigest())
"""


def test_the_first_training_is_like_the_second_and_threads_change_nothing() -> None:
    """numba raised the number of threads in the middle of the first training, and directions of views followed it."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )
        for threads in (1, 2)
    ]
    lines = [process.communicate()[0].split("\n")[:2] for process in processes]
    assert [line.split()[0] for pair in lines for line in pair] == ["1", "1", "2", "2"]
    assert len({line.split()[1] for pair in lines for line in pair}) == 1
