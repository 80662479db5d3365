"""Ctrl-C, SIGTERM and SIGHUP: training is saved, the exit code says which it was, nothing ends in a traceback."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graphmae.runtime.signals import MESSAGE
from reliability.harness import Server, Undisturbed, Work, contents, differences

LONG = ["--set", "train.epochs=100000", "--set", "train.patience=0"]
EXIT = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def wait_for(path: Path, size: int = 1) -> None:
    deadline = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size >= size):
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
