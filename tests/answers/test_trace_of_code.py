"""A run of one's own method can be traced to its code, and does not go on with other code; figures name their runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import graphmae as gm
from commands import graphmae
from graphmae import registry
from graphmae.runtime.errors import InputError

SMALL = (
    "train.epochs=1",
    "encoder.hidden_channels=8",
    "data.num_nodes=60",
    "evaluation.epochs=2",
    "evaluation.baselines=[]",
)
CODE = """
import graphmae as gm

@gm.methods.register("traced")
class Traced(gm.GraphMAE):
    def loss(self, batch):
        return {factor} * super().loss(batch)
"""


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def import_code(tmp_path: Path) -> Iterator[Callable[[int], str]]:
    """Write the method into mine.py, and read that as --import does."""

    def write(factor: int) -> str:
        text = CODE.format(factor=factor)
        (tmp_path / "mine.py").write_text(text)
        registry.import_parts([str(tmp_path / "mine.py")])
        return text

    before = dict(registry.IMPORTED)
    yield write
    registry.IMPORTED.clear()
    registry.IMPORTED.update(before)


def run(out: Path, seeds: list[int], **options: bool) -> gm.Result:
    return gm.run("default", seeds, out, overrides=["method.name=traced", *SMALL], progress=False, **options)  # type: ignore[arg-type]


def test_a_run_keeps_the_code_that_was_imported(import_code: Callable[[int], str], tmp_path: Path) -> None:
    """recipe.json, result.json, the card and config.json had no trace of the file that defines the method."""
    text, out = import_code(1), tmp_path / "run"
    result = run(out, [0])
    assert result.code == {"mine.py": sha(text)} and gm.Result.load(out).code == result.code
    assert [file.read_text() for file in (out / "code").iterdir()] == [text]
    stored = json.loads((out / "seed-0" / "config.json").read_text())
    assert sha(text)[:12] in stored["trained_on"]["code"] and "mine.py" in (out / "seed-0" / "README.md").read_text()


def test_a_run_does_not_go_on_with_other_code(import_code: Callable[[int], str], tmp_path: Path) -> None:
    """Resuming with another loss formula was silent: two methods in one table, under one name."""
    first, out = import_code(1), tmp_path / "run"
    run(out, [0])
    assert run(out, [0, 1], resume=True).seeds == [0, 1]  # the same code
    second = import_code(2)
    with pytest.raises(InputError, match=r"mine\.py.*changed.*--force"):
        run(out, [0, 1, 2], resume=True)
    assert not (out / "seed-2").exists()
    forced = run(out, [0, 1, 2], resume=True, force=True)
    assert forced.code == {"mine.py": f"{sha(first)}, {sha(second)}"}
    assert {file.read_text() for file in (out / "code").iterdir()} == {first, second}
    assert run(out, [0, 1, 2], resume=True).seeds == [0, 1, 2]  # what was forced is known now


def test_pre_training_does_not_go_on_with_other_code(import_code: Callable[[int], str], tmp_path: Path) -> None:
    """The same of pretrain, and of a comparison, whose finished lines would stand beside new ones."""
    import_code(1)
    options = {"overrides": ["method.name=traced", *SMALL[:2]], "out": tmp_path / "run", "progress": False}
    data = gm.data.load("synthetic", num_nodes=60).single_graph()
    gm.pretrain("default", data, **options)
    import_code(2)
    with pytest.raises(InputError, match=r"mine\.py.*changed.*--force"):
        gm.pretrain("default", data, resume=True, **options)
    gm.pretrain("default", data, resume=True, force=True, **options)


def test_a_comparison_does_not_go_on_with_other_code(
    import_code: Callable[[int], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were finished with the old code would stand beside lines of the new one."""
    monkeypatch.setattr("graphmae.experiments.compare._Arena._memory", lambda *arguments: 0)  # another process
    data = gm.data.load("synthetic", num_nodes=60).single_graph()

    def compare() -> None:
        gm.compare(data, ["cca-ssg"], recipe="default", seeds=[0], budget=1, links=False, own=False,
                   out=tmp_path / "c", overrides=SMALL[:2], device="cpu")  # fmt: skip

    import_code(1)
    compare()
    compare()
    import_code(2)
    with pytest.raises(InputError, match="another comparison"):
        compare()


def test_a_run_without_imported_code_is_resumed_as_before(tmp_path: Path) -> None:
    """Nothing to keep, nothing to refuse."""
    assert not registry.IMPORTED
    gm.run("default", [0], tmp_path / "run", overrides=SMALL, progress=False)
    again = gm.run("default", [0, 1], tmp_path / "run", overrides=SMALL, resume=True, progress=False)
    assert again.code == {} and not (tmp_path / "run" / "code").exists()


def test_the_command_line_refuses_and_forces(tmp_path: Path) -> None:
    """`graphmae run … --import mine.py --resume` with an edited file ends with a sentence and exit code 2."""
    words = [word for key in SMALL for word in ("--set", key)]
    command = ("run", "default", "--import", tmp_path / "mine.py", "--set", "method.name=traced", *words,
               "--out", tmp_path / "run", "--device", "cpu")  # fmt: skip
    (tmp_path / "mine.py").write_text(CODE.format(factor=1))
    assert graphmae(*command).returncode == 0
    (tmp_path / "mine.py").write_text(CODE.format(factor=2))
    done = graphmae(*command, "--seeds", "0-1", "--resume")
    assert done.returncode == 2 and "mine.py" in done.stderr and "--force" in done.stderr
    assert graphmae(*command, "--seeds", "0-1", "--resume", "--force").returncode == 0
    for name in ("run", "pretrain", "finetune", "curve"):
        assert "--force" in graphmae(name, "--help").stdout


def test_figures_of_several_runs_name_the_runs(tmp_path: Path) -> None:
    """scores-0.pdf had "GraphMAE / untrained encoder / raw features" three times over, of nobody knew which run."""
    pytest.importorskip("matplotlib")
    for name in ("rate-low", "rate-high"):
        gm.run("default", [0], tmp_path / name, overrides=[*SMALL[:4], "evaluation.baselines=['raw']"], progress=False)
    runs = [tmp_path / "rate-low", tmp_path / "rate-high"]
    gm.report(runs, tmp_path / "page.html", figures=tmp_path / "figures")
    text = (tmp_path / "figures" / "scores-0.svg").read_text()
    for label in ("rate-low · GraphMAE", "rate-high · GraphMAE", "rate-low · raw features", "rate-high · raw features"):
        assert text.count(f">{label}<") == 1, label
    gm.report(runs[0], tmp_path / "page.html", figures=tmp_path / "one")
    assert ">GraphMAE<" in (tmp_path / "one" / "scores-0.svg").read_text()
