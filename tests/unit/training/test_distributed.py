from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from graphmae.runtime import ranks as environment
from graphmae.runtime.errors import InputError
from graphmae.training.distributed import ALONE, Ranks, Shared
from rank_worker import CASES, gradients, model_of

TESTS = Path(__file__).parents[2]
SRC = TESTS.parent / "src"


def torchrun(*command: str, processes: int = 2, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Standalone: a free port is found by torchrun itself."""
    path = os.pathsep.join([str(SRC), str(TESTS), os.environ.get("PYTHONPATH", "")])
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.run(
        [*launch, *command],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "GRAPHMAE_KERNELS": "reference"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    done = torchrun(str(TESTS / "rank_worker.py"), str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("case", [case for case in CASES if case != "own statistics"])
def test_the_gradients_of_two_ranks_are_those_of_one_process_on_the_union(two_ranks: Path, case: str) -> None:
    expected = gradients(case, ALONE)
    for rank in (0, 1):
        found = load_file(two_ranks / f"{CASES.index(case)}-{rank}.safetensors")
        assert set(found) == set(expected)
        for name in expected:
            assert torch.allclose(found[name], expected[name], rtol=1e-4, atol=1e-6), name


def test_without_synchronised_statistics_they_are_not(two_ranks: Path) -> None:
    """So that the comparison above can fail: each rank's batch norms then see its own nodes."""
    case = "own statistics"
    expected, found = gradients(case, ALONE), load_file(two_ranks / f"{CASES.index(case)}-0.safetensors")
    assert not torch.allclose(found["bridge.weight"], expected["bridge.weight"], rtol=1e-2, atol=1e-4)


def test_a_script_of_ones_own_has_the_same_model_in_every_process(two_ranks: Path) -> None:
    first, second = (load_file(two_ranks / f"own-{rank}.safetensors") for rank in (0, 1))
    untrained = dict(model_of("layer norm").named_parameters())
    assert all(torch.equal(first[name], second[name]) for name in untrained)
    assert not torch.equal(first["bridge.weight"], untrained["bridge.weight"])


def test_every_number_belongs_to_one_rank() -> None:
    for count, size in ((10, 3), (2, 4), (0, 2), (7, 1)):
        spans = [Ranks(rank, size).span(count) for rank in range(size)]
        assert [number for span in spans for number in span] == list(range(count))
        shares = [Ranks(rank, size).share(torch.arange(count)).tolist() for rank in range(size)]
        assert shares == [list(span) for span in spans]


def test_a_last_batch_that_is_too_small_to_divide_is_left_out() -> None:
    assert [len(Shared(torch.arange(count), 4, lambda ids: ids, Ranks(0, 2))) for count in (8, 9, 10)] == [2, 2, 3]
    with pytest.raises(InputError, match=r"train\.batch_size=8"):
        Shared(torch.arange(8), 1, lambda ids: ids, Ranks(0, 2))


def test_torchrun_is_known_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    assert (environment.rank(), environment.size(), environment.resumes(False)) == (0, 1, False)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert (environment.rank(), environment.size(), environment.resumes(False)) == (3, 4, True)
    with pytest.raises(InputError, match="without torchrun"):
        environment.check_alone("graphmae tune")
    monkeypatch.setenv("WORLD_SIZE", "four")
    with pytest.raises(InputError, match="WORLD_SIZE must be a whole number"):
        environment.size()


@pytest.mark.long
def test_torchrun_starts_a_run_again_when_a_rank_is_killed(tmp_path: Path) -> None:
    """The second rank kills itself once, in its third epoch; torchrun starts both again, and they go on."""
    (tmp_path / "once.py").write_text(
        "import os, signal, pathlib\n"
        "from graphmae.methods import GraphMAE\n"
        f"mark, after = pathlib.Path({str(tmp_path / 'killed')!r}), GraphMAE.after_epoch\n"
        "count = 0\n"
        "def dies(self):\n"
        "    global count\n"
        "    count += 1\n"
        "    if count == 3 and os.environ['RANK'] == '1' and not mark.exists():\n"
        "        mark.touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "GraphMAE.after_epoch = dies\n"
    )
    from raw_files import write_rings_and_stars

    shapes = write_rings_and_stars(tmp_path / "shapes", count=40)
    out = tmp_path / "run"
    command = ["-m", "graphmae", "pretrain", str(shapes), "--epochs", "6", "--out", str(out), "--device", "cpu"]
    command += ["--import", str(tmp_path / "once.py"), "--set", "encoder.hidden_channels=8"]
    os.environ["GRAPHMAE_SAVE_SECONDS"] = "0"
    try:
        done = torchrun("--max-restarts", "1", *command, "--set", "train.batch_size=16", timeout=300)
    finally:
        del os.environ["GRAPHMAE_SAVE_SECONDS"]
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").exists()
    assert (out / "model.safetensors").exists() and not list(out.glob("state*"))
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 6
