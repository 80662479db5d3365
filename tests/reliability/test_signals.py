"""Ctrl-C, SIGTERM and SIGHUP: training is saved, the exit code says which it was, nothing ends in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graphmae.runtime.signals import MESSAGE
from reliability.harness import Server, Undisturbed, Work, contents, differences

LONG = ["--set", "train.epochs=100000", "--set", "train.patience=0"]
EXIT = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def wait_for(path: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.005)


@pytest.mark.parametrize("number", EXIT)
def test_a_signal_saves_and_the_run_goes_on_to_the_same_weights(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path, number: signal.Signals
) -> None:
    """The state is not saved but for the signal: saves are an hour apart."""
    work, _, expected = undisturbed("graph")
    slow = replace(work, env={"GRAPHMAE_SAVE_SECONDS": "3600"})
    pid = server.start(slow, tmp_path / "run")
    wait_for(tmp_path / "run/metrics.jsonl")
    os.kill(pid, number)
    assert server.wait(pid) == EXIT[number], server.log.read_text()
    said = server.log.read_text()
    assert MESSAGE in said and "--resume goes on from there" in said and "Traceback" not in said
    assert (tmp_path / "run/state.safetensors").exists()
    server.finish(work, tmp_path / "run")
    assert not differences(expected, contents(tmp_path / "run"))


def test_a_second_signal_stops_at_once(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    """The first one is noted by a process that is held; the second one ends it when it goes on."""
    work, *_ = undisturbed("node")
    pid = server.start(replace(work, argv=[*work.argv, *LONG], env={"GRAPHMAE_SAVE_SECONDS": "3600"}), tmp_path / "run")
    wait_for(tmp_path / "run/seed-0/metrics.jsonl")
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGCONT)
    assert server.wait(pid) in (130, 143), server.log.read_text()
    assert not (tmp_path / "run/seed-0/state.safetensors").exists()
    assert "Traceback" not in server.log.read_text()


def test_a_signal_outside_of_training_ends_cleanly(server: Server, tmp_path: Path) -> None:
    """While data is made, before anything is written, and while probes are trained."""
    quick = ["train.epochs=1", "encoder.hidden_channels=8", "evaluation.epochs=1000000", "evaluation.baselines=[]"]
    argv = ["run", "default", "--device", "cpu", *(part for one in quick for part in ("--set", one))]
    pid = server.start(Work("evaluation", argv), tmp_path / "run")
    wait_for(tmp_path / "run/seed-0/config.json")
    os.kill(pid, signal.SIGTERM)
    assert server.wait(pid) == 143, server.log.read_text()
    said = server.log.read_text()
    assert "Traceback" not in said and "--resume goes on in" in said
    pid = server.start(Work("loading", [*argv, "--set", "data.num_nodes=300000"]), tmp_path / "other")
    time.sleep(0.5)
    os.kill(pid, signal.SIGINT)
    assert server.wait(pid) == 130, server.log.read_text()
    assert server.log.read_text() == "stopped\n" and not (tmp_path / "other").exists()


def test_an_ignored_signal_stays_ignored(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path
) -> None:
    """As under nohup."""
    work, _, expected = undisturbed("graph")
    pid = server.start(work, tmp_path / "run", ignore=[int(signal.SIGHUP)])
    wait_for(tmp_path / "run/metrics.jsonl")
    os.kill(pid, signal.SIGHUP)
    assert server.wait(pid) == 0, server.log.read_text()
    assert not differences(expected, contents(tmp_path / "run"))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_seeds_in_processes_are_saved_and_none_outlives_its_parent(
    server: Server, undisturbed: Callable[[str], Undisturbed], tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C reaches the whole group, SIGTERM and SIGKILL the parent alone."""
    work, _, expected = undisturbed("node")
    both = replace(work, argv=[*work.argv, "--jobs", "2"], env={"GRAPHMAE_SAVE_SECONDS": "0"})
    slow = replace(both, argv=[*both.argv, *LONG])
    pid = server.start(slow, tmp_path / "long")
    for seed in (0, 1):
        wait_for(tmp_path / f"long/seed-{seed}/state.safetensors", seconds=180)
    (os.killpg if number == signal.SIGINT else os.kill)(pid, number)
    assert server.wait(pid) == EXIT.get(number, -9), server.log.read_text()
    assert "Traceback" not in server.log.read_text()
    deadline = time.monotonic() + 20
    while subprocess.run(["pgrep", "-g", str(pid)], capture_output=True).returncode == 0:
        assert time.monotonic() < deadline, "a worker is left"
        time.sleep(0.1)
    pid = server.start(both, tmp_path / "run")
    wait_for(tmp_path / "run/seed-1/metrics.jsonl", seconds=180)
    os.kill(pid, number)
    server.wait(pid)
    time.sleep(1)
    assert server.run(both, tmp_path / "run", resume=True) == 0, server.log.read_text()
    assert not differences(expected, contents(tmp_path / "run"))
