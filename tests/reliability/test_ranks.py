"""Two processes that train together: killed, stopped and resumed as one; nothing is written by the second."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reliability.harness import Server, Undisturbed, Work, contents, differences, lives

MINUTE = 60.0
SLOW = ("--epochs", "2000")


def start(server: Server, work: Work, out: Path, resume: bool = False, **environment: str) -> list[int]:
    """Two ranks of a command line, as `torchrun` would start them; their process numbers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    pids = []
    for rank in ("0", "1"):
        one = replace(work, env={**work.env, **env, **environment, "RANK": rank, "LOCAL_RANK": rank})
        pids.append(server.start(one, out, resume=resume))
    return pids


def finish(server: Server, pids: list[int]) -> list[int]:
    return [server.wait(pid) for pid in pids]


def trained(out: Path, pids: list[int], lines: int) -> None:
    """Wait until some epochs are over."""
    metrics, limit = out / "metrics.jsonl", time.monotonic() + MINUTE
    while not (metrics.exists() and metrics.read_bytes().count(b"\n") >= lines):
        assert all(map(lives, pids)) and time.monotonic() < limit
        time.sleep(0.01)


def test_two_ranks_write_what_one_does_and_learn_as_much(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, _, alone = undisturbed("graph")
    assert finish(server, start(server, work, tmp_path / "two")) == [0, 0], server.log.read_text()
    both = contents(tmp_path / "two")
    assert set(both) == set(alone)
    assert [line["epoch"] for line in both["metrics.jsonl"]] == [1, 2, 3]
    losses = [[line["loss"] for line in found["metrics.jsonl"]] for found in (alone, both)]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)
    assert both["model.safetensors"] != alone["model.safetensors"]  # masks are drawn by each rank for itself
    assert finish(server, start(server, work, tmp_path / "again")) == [0, 0]
    assert not differences(both, contents(tmp_path / "again"))


def test_killing_one_rank_ends_the_other_and_a_restart_gives_the_same_bytes(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, _, _ = undisturbed("graph")
    work = replace(work, argv=[*work.argv, "--epochs", "40"])
    assert finish(server, start(server, work, tmp_path / "whole")) == [0, 0]
    for number, victim in enumerate((1, 0)):
        pids = start(server, work, tmp_path / "cut", resume=bool(number))
        trained(tmp_path / "cut", pids, 3 + 10 * number)
        os.kill(pids[victim], signal.SIGKILL)
        began = time.monotonic()
        codes = finish(server, pids)
        assert time.monotonic() - began < MINUTE / 2
        assert codes == [-9 if rank == victim else 1 for rank in (0, 1)]
    # torchrun starts the same command again: without --resume, and it goes on
    assert finish(server, start(server, work, tmp_path / "cut", TORCHELASTIC_RESTART_COUNT="1")) == [0, 0]
    assert not differences(contents(tmp_path / "whole"), contents(tmp_path / "cut"))


def test_a_signal_to_either_rank_stops_both_after_the_same_step(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, _, _ = undisturbed("graph")
    work = replace(work, argv=[*work.argv, *SLOW], env={"GRAPHMAE_SAVE_SECONDS": "600"})
    pids = start(server, work, tmp_path / "run")
    trained(tmp_path / "run", pids, 2)
    os.kill(pids[1], signal.SIGTERM)
    assert finish(server, pids) == [128 + signal.SIGTERM] * 2
    assert (tmp_path / "run/state.safetensors").exists()


def test_a_run_of_two_ranks_evaluates_once_and_embeddings_are_put_together(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    work, _, alone = undisturbed("folds")
    one_seed = replace(work, argv=[*work.argv, "--seeds", "0"])
    assert finish(server, start(server, one_seed, tmp_path / "run")) == [0, 0], server.log.read_text()
    both = contents(tmp_path / "run")
    assert set(both) == {name for name in alone if "seed-1" not in name}
    scores = [found["result.json"]["runs"][0]["rows"]["pretrained"]["folds"] for found in (alone, both)]
    assert scores[1] == pytest.approx(scores[0], abs=10)  # percent, of 40 graphs
    shapes = next(part for part in work.argv if part.endswith(".toml")).replace("shapes.toml", "shapes")
    found = []
    for name, begin in (("one", lambda w, out: [server.start(w, out)]), ("two", lambda w, out: start(server, w, out))):
        embed = Work("embed", ["embed", str(tmp_path / "run/seed-0"), shapes, "--device", "cpu"])
        assert finish(server, begin(embed, tmp_path / f"{name}.npy")) == [0] * (1 + (name == "two"))
        found.append(np.load(tmp_path / f"{name}.npy"))
    assert np.allclose(*found, atol=1e-6)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.npy", "run", "two.npy"]


def test_seeds_of_one_graph_are_divided(server: Server, tmp_path: Path) -> None:
    settings = ["data.num_nodes=300", "train.sampler=neighbour", "train.batch_size=64", "encoder.hidden_channels=8"]
    sets = [part for setting in [*settings, "encoder.heads=2"] for part in ("--set", setting)]
    argv = ["pretrain", "synthetic", "--recipe", "default", "--epochs", "2", "--device", "cpu", *sets]
    work = Work("seeds", argv)
    for name in ("first", "again"):
        assert finish(server, start(server, work, tmp_path / name)) == [0, 0], server.log.read_text()
    found, again = contents(tmp_path / "first"), contents(tmp_path / "again")
    losses = [[line["loss"] for line in one["metrics.jsonl"]] for one in (found, again)]  # beside them, times
    assert losses[0] == losses[1]
    assert found["model.safetensors"] == again["model.safetensors"]
    assert found["config.json"]["trained_on"]["processes"] == 2


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("node", [], "--set train.parts=16"),
        ("graph", ["--set", "train.batch_size=1"], "--set train.batch_size=8"),
        ("finetune", [], "start it without torchrun"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path, kind: str, more: list[str], message: str
) -> None:
    work, _, _ = undisturbed(kind)
    assert finish(server, start(server, replace(work, argv=[*work.argv, *more]), tmp_path / "run")) == [2, 2]
    assert message in server.log.read_text()
