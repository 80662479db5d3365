"""What ended in a traceback: each is one sentence and exit code 2, or works."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import DataError, InputError, WriteError

ROWS = 24
SMALL = ["encoder.hidden_channels=8", "encoder.heads=2", "train.epochs=1", "embedding.width=8"]


def node_table() -> dict[str, list[Any]]:
    words = ["red", "blue", "green", "fox", "dog", "cat"]
    return {
        "id": [f"n{i}" for i in range(ROWS)],
        "age": [20.5 + i * i % 17 for i in range(ROWS)],
        "city": [("Rome", "Oslo", "Bern")[i % 3] for i in range(ROWS)],
        "about": [f"{words[i % 6]} {words[i // 6]} {words[3 * i % 6]} number{i % 4}" for i in range(ROWS)],
    }


def edge_table() -> dict[str, list[Any]]:
    return {"source": [f"n{i}" for i in range(ROWS)], "target": [f"n{(5 * i + 1) % ROWS}" for i in range(ROWS)]}


def write_tables(folder: Path) -> list[str]:
    folder.mkdir(exist_ok=True)
    paths = []
    for name, table in (("nodes", node_table()), ("edges", edge_table())):
        lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        paths.append(str(folder / f"{name}.csv"))
    return paths


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nodes.csv, edges.csv and `run`, which was pre-trained on them."""
    folder = tmp_path_factory.mktemp("work")
    gm.pretrain("auto", write_tables(folder), overrides=SMALL, out=folder / "run", progress=False)
    return folder


def copied_run(work: Path, folder: Path) -> Path:
    copy = folder / "run"
    copy.mkdir()
    for file in (work / "run").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def check_sentence(done: subprocess.CompletedProcess[str], *pieces: str, code: int = 2) -> None:
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    for piece in pieces:
        assert piece in done.stderr, done.stderr


# Paths


LATIN = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("what", ["pretrain", "pretrain out", "embed", "embed out", "store", "report", "report out"])
def test_a_path_that_is_not_utf_8(work: Path, tmp_path: Path, what: str) -> None:
    """A folder with a Latin-1 name, from an old disk: a traceback, or a model that no command could read again."""
    tables, latin = write_tables(tmp_path / "plain"), str(tmp_path / LATIN)
    elsewhere, run = write_tables(Path(latin)), str(work / "run")
    words = {
        "pretrain": ["pretrain", *elsewhere, "--out", str(tmp_path / "x")],
        "pretrain out": ["pretrain", *tables, "--out", f"{latin}/x"],
        "embed": ["embed", run, *elsewhere, "-o", str(tmp_path / "x.csv")],
        "embed out": ["embed", run, *tables, "-o", f"{latin}/x.csv"],
        "store": ["store", *elsewhere, "-o", str(tmp_path / "x")],
        "report": ["report", f"{latin}/run", "-o", str(tmp_path / "x.html")],
        "report out": ["report", run, "-o", f"{latin}/x.html"],
    }[what]  # fmt: skip
    check_sentence(graphmae(*words), "caf?", "is not UTF-8", "rename")
    assert not list(tmp_path.rglob("x*"))


@pytest.mark.parametrize("what", ["data", "out of a model", "out of a file", "model"])
def test_a_path_that_is_not_utf_8_from_python(work: Path, tmp_path: Path, what: str) -> None:
    """The same from a notebook."""
    latin = tmp_path / LATIN
    tables, elsewhere = write_tables(tmp_path / "plain"), write_tables(latin)
    with pytest.raises(InputError, match="is not UTF-8"):
        if what == "data":
            gm.embed(work / "run", elsewhere)
        elif what == "out of a model":
            gm.pretrain("auto", tables, 1, out=latin / "x", progress=False)
        elif what == "out of a file":
            gm.embed(work / "run", tables, out=latin / "x.csv")
        else:
            gm.load(latin / "run")


def test_a_report_made_in_a_folder_that_is_not_utf_8(work: Path, tmp_path: Path) -> None:
    """Nothing that was typed is wrong there, and the page ended in a traceback when it was written."""
    latin = tmp_path / LATIN
    write_tables(latin)
    copied_run(work, latin)
    done = graphmae("report", ".", "-o", "page.html", cwd=latin / "run")
    assert done.returncode == 0, done.stderr
    assert "<html" in (latin / "run/page.html").read_text()


def test_letters_in_a_locale_that_has_none(work: Path, tmp_path: Path) -> None:
    """LC_ALL=C without Python's UTF-8 mode, in a bare container: the sentence says what to set."""

    tables = write_tables(tmp_path / "ünï")
    bare = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "graphmae", "embed", str(work / "run"), *tables, "-o", str(tmp_path / "x.csv")]
    done = subprocess.run(command, capture_output=True, text=True, env=bare)
    check_sentence(done, "PYTHONUTF8=1")


# Tables


def embedded(work: Path, nodes: Any, edges: Any = None) -> np.ndarray:
    return np.asarray(gm.embed(work / "run", (nodes, edge_table() if edges is None else edges)))


def test_text_of_parquet_as_views(work: Path, tmp_path: Path) -> None:
    """Polars and new Arrow write text as string_view; a kernel of Arrow was missing for it."""
    paths = []
    for name, columns in (("nodes", node_table()), ("edges", edge_table())):
        table = pa.table(columns)
        fields = [f.with_type(pa.string_view()) if f.type == pa.string() else f for f in table.schema]
        paths.append(str(tmp_path / f"{name}.parquet"))
        pyarrow.parquet.write_table(table.cast(pa.schema(fields)), paths[-1])
        assert "string_view" in str(pyarrow.parquet.read_table(paths[-1]).schema)
    rows = np.asarray(gm.embed(work / "run", paths))
    assert np.array_equal(rows, embedded(work, node_table()))


@pytest.mark.parametrize("kind", ["parquet", "pandas", "arrow"])
def test_numbers_of_half_precision(work: Path, tmp_path: Path, kind: str) -> None:
    """float16 is what models write; Arrow has no kernel to compare it."""
    import pandas as pd

    halves = {**node_table(), "age": np.array(node_table()["age"], dtype=np.float16)}
    expected = embedded(work, {**node_table(), "age": [float(age) for age in halves["age"]]})
    if kind == "pandas":
        found = embedded(work, pd.DataFrame(halves), pd.DataFrame(edge_table()))
    elif kind == "arrow":
        found = embedded(work, pa.table(halves), pa.table(edge_table()))
    else:
        pyarrow.parquet.write_table(pa.table(halves), tmp_path / "nodes.parquet")
        pyarrow.parquet.write_table(pa.table(edge_table()), tmp_path / "edges.parquet")
        found = np.asarray(gm.embed(work / "run", [str(tmp_path / "nodes.parquet"), str(tmp_path / "edges.parquet")]))
    assert np.array_equal(found, expected)


def test_what_is_learned_from_numbers_of_half_precision() -> None:
    """ "Function 'min_max' has no kernel": a table with one such column could not be trained on. In lists as well."""
    numbers = [[float(i % 5), i / 7] for i in range(ROWS)]
    halves = pa.array(numbers, pa.list_(pa.float16()))
    nodes = pa.table({**node_table(), "age": np.array(node_table()["age"], dtype=np.float16), "vector": halves})
    singles = {name: column.to_pylist() for name, column in zip(nodes.column_names, nodes.columns, strict=True)}
    found = gm.data.from_tables(nodes, edge_table(), quiet=True).graphs[0].x
    assert torch.allclose(found, gm.data.from_tables(singles, edge_table(), quiet=True).graphs[0].x, atol=1e-6)


def test_half_a_character_in_json_lines(work: Path, tmp_path: Path) -> None:
    r"""One row of "\ud800", half of an emoji that was cut in two."""
    rows = [dict(zip(node_table(), row, strict=True)) for row in zip(*node_table().values(), strict=True)]
    lines = [json.dumps(row) for row in rows]
    lines[4] = lines[4].replace("Oslo", r"Oslo\ud800")
    (tmp_path / "nodes.jsonl").write_text("\n".join(lines))
    tables = [str(tmp_path / "nodes.jsonl"), str(work / "edges.csv")]
    done = graphmae("embed", work / "run", *tables, "-o", tmp_path / "x.csv")
    check_sentence(done, "nodes.jsonl", "line 5", "UTF-8")


# Files of a run


Change = Callable[[dict[str, Any]], object]
CONFIGS: dict[str, Change] = {
    "a mean of 400 digits": lambda c: c["inputs"]["columns"][1].update(mean=10**400),
    "10^400 nodes": lambda c: c["inputs"]["statistics"].update(nodes=10**400),
    "weights of 1e308": lambda c: c["inputs"]["columns"][0].update(
        weights=[1e308] * len(c["inputs"]["columns"][0]["weights"])
    ),
    "half a character": lambda c: c["inputs"]["columns"][2]["levels"].__setitem__(0, "\udcff"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFIGS)
def test_numbers_and_letters_of_a_config_that_nothing_can_hold(work: Path, tmp_path: Path, case: str) -> None:
    """A forged or damaged config.json: OverflowError, UnicodeEncodeError, or an error of scikit-learn in embed."""
    run = copied_run(work, tmp_path)
    config = json.loads((run / "config.json").read_text())
    assert [column["kind"] for column in config["inputs"]["columns"]] == ["text", "number", "category"]
    CONFIGS[case](config)
    (run / "config.json").write_text(json.dumps(config))
    done = graphmae("embed", run, work / "nodes.csv", work / "edges.csv", "-o", tmp_path / "x.csv")
    check_sentence(done, str(run))


RECIPES = {
    "deep": "[" * 100_000,
    "deep inside": '{"data": ' + '{"a": ' * 900 + "1" + "}" * 901,
    "a number for data": '{"data": 5}',
    "numbers": '{"data": {"name": 5, "nodes": 7, "edges": 8}, "train": [], "method": null, "about": "x"}',
    "a number for edges": '{"data": {"name": "tables", "nodes": "nodes.csv", "edges": 8}}',
    "lists": '{"data": {"name": ["tables"], "edges": [[]]}, "evaluation": {"readout": 3}, "finetune": 1}',
    "half a character": r'{"data": {"name": "\udcff"}, "about": {"title": "\udcff"}}',
    "a long number": '{"data": {"name": "cora"}, "train": {"epochs": 1' + "0" * 400 + "}}",
    "no object": "[1]",
}


@pytest.mark.parametrize("case", RECIPES)
@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_recipe_of_a_run_that_is_none(work: Path, tmp_path: Path, case: str, command: str) -> None:
    """RecursionError or AttributeError; the other files of a run were refused, or left out with a note."""
    run = copied_run(work, tmp_path)
    (run / "recipe.json").write_text(RECIPES[case])
    if command == "report":
        done = graphmae("report", run, "-o", tmp_path / "x.html")
        assert "Traceback" not in done.stderr and done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or str(run / "recipe.json") in done.stderr
        return
    overrides = [word for key in SMALL for word in ("--set", key)]
    tables = [work / "nodes.csv", work / "edges.csv"]
    check_sentence(graphmae("pretrain", *tables, "--out", run, "--resume", *overrides), str(run))


# Options


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        (["--set", "data.kinds=5"], ["data.kinds must be", "not 5"]),
        (["--set", 'data.kinds={age="figure"}'], ["age", "figure"]),
        (["--set", "data.kinds={age=5}"], ["data.kinds", "5"]),
        (["--set", 'data.kinds={id="number"}'], ["data.kinds", "'id'", "id column"]),
        (["--set", 'data.kinds={source="number"}'], ["data.kinds", "'source'"]),
        (["--device", "cuda:99999999999999999999"], ["cuda:99999999999999999999", "cuda:N"]),
        (["--device", "cuda:255"], ["cuda:255"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_an_option_that_cannot_be_right(work: Path, tmp_path: Path, words: list[str], pieces: list[str]) -> None:
    """TypeError, RuntimeError; kinds of an id column were taken and had no effect."""
    done = graphmae("pretrain", work / "nodes.csv", work / "edges.csv", "--out", tmp_path / "x", *words)
    check_sentence(done, *pieces)


@pytest.mark.parametrize("kinds", [5, "number", ["age"], {"age": 5}, {"id": "number"}, {"source": "number"}])
def test_kinds_that_are_none_from_python(kinds: Any) -> None:
    """The same in memory."""
    with pytest.raises(InputError, match="kinds"):
        gm.data.from_tables(node_table(), edge_table(), kinds=kinds, quiet=True)


@pytest.mark.parametrize("seeds", ["0-1000000000", "0-999999999999999999999999999999", "0-9999,20000"])
def test_more_seeds_than_anybody_runs(seeds: str) -> None:
    """The list was built first: 2.5 GB in 4 seconds."""
    check_sentence(graphmae("run", "node/cora", "--seeds", seeds), "at most 10,000 seeds")


def test_seeds_backwards() -> None:
    """`--seeds 0,5-3` ran seed 0 alone."""
    check_sentence(graphmae("run", "node/cora", "--seeds", "0,5-3"), "5-3")


def test_more_seeds_than_anybody_runs_from_python() -> None:
    """A range is not written out before it is counted."""
    with pytest.raises(InputError, match="at most 10,000 seeds"):
        gm.run("node/cora", seeds=range(10**18))


@pytest.mark.parametrize("seconds", ["nan", "-1", "inf", "soon"])
def test_seconds_between_saves_that_are_none(
    work: Path, tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nan nothing was ever saved, with -1 after every step, and nobody was told."""
    monkeypatch.setenv("GRAPHMAE_SAVE_SECONDS", seconds)
    with pytest.raises(InputError, match=r"GRAPHMAE_SAVE_SECONDS.*" + seconds):
        gm.pretrain("auto", write_tables(tmp_path), overrides=SMALL, out=tmp_path / "x", progress=False)


# The library


def ring() -> Data:
    generator = torch.Generator().manual_seed(0)
    ends = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])
    return Data(x=torch.rand(20, 6, generator=generator), edge_index=torch.cat([ends, ends.flip(0)], 1))


def small_model() -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(gm.encoders.GAT(6, hidden_channels=8, heads=2), gm.decoders.GAT(8, 6))


def trained() -> np.ndarray:
    data = ring()
    return np.asarray(gm.embed(gm.pretrain(small_model(), data, 2, progress=False), data))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_training_inside_of_a_block_without_gradients(mode: Callable[[], Any]) -> None:
    """A notebook with torch.inference_mode() around everything: 'element 0 of tensors does not require grad'."""
    data, expected = ring(), trained()
    model = small_model()
    with mode():
        gm.pretrain(model, data, 2, progress=False)
        assert np.array_equal(gm.embed(model, data), expected)
        assert not torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_recipes_inside_of_a_block_without_gradients(mode: Callable[[], Any]) -> None:
    """The same for a recipe, on a graph that was made in the block too."""
    expected = np.asarray(gm.embed(gm.pretrain("auto", ring(), 1, progress=False), ring()))
    with mode():
        assert np.array_equal(np.asarray(gm.embed(gm.pretrain("auto", ring(), 1, progress=False), ring())), expected)


def test_a_model_made_in_inference_mode() -> None:
    """Its weights can never be trained, and PyTorch says so in the middle of a step."""
    with torch.inference_mode():
        model = small_model()
    with pytest.raises(InputError, match=r"torch\.inference_mode\(\).*outside"):
        gm.pretrain(model, ring(), 1, progress=False)


def test_float64_as_the_default_type() -> None:
    """torch.set_default_dtype(torch.float64), as scientists do: two types met in one sum."""
    data, model, expected = ring(), small_model(), trained()
    torch.set_default_dtype(torch.float64)
    try:
        gm.pretrain(model, data, 2, progress=False)
        found = np.asarray(gm.embed(model, data))
        assert torch.get_default_dtype() == torch.float64
        with pytest.raises(InputError, match=r"model\.float\(\)"):
            gm.pretrain(small_model(), data, 1, progress=False)  # its weights are float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_the_default_device_meta() -> None:
    """torch.set_default_device("meta"): 'Tensor on device meta is not on the expected device'."""
    data, model, expected = ring(), small_model(), trained()
    torch.set_default_device("meta")
    try:
        gm.pretrain(model, data, 2, progress=False)
        found = np.asarray(gm.embed(model, data))
        with pytest.raises(InputError, match="meta"):
            gm.embed(small_model(), data)  # a model without numbers
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "backend"), [("gat", "eager"), ("gat", "aot_eager"), ("gcn", "eager"), ("gin", "eager")]
)
def test_torch_compile_of_an_encoder(name: str, backend: str) -> None:
    """A TypingError of Numba, forty lines long. Other edges in the same shape are other edges."""
    torch.manual_seed(0)
    encoder = gm.encoders.build(name, in_channels=6, hidden_channels=8, num_layers=1).eval()
    torch._dynamo.reset()
    compiled = torch.compile(encoder, backend=backend)
    data = ring()
    for edges in (data.edge_index, (data.edge_index * 3 + data.edge_index.flip(0)) % 20):
        expected, found = encoder(data.x, edges), compiled(data.x, edges)
        torch.testing.assert_close(found, expected)
        grads = [torch.autograd.grad(out.square().sum(), encoder.parameters()) for out in (found, expected)]
        for one, other in zip(*grads, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gat", "gcn", "gin"])
def test_a_trace_of_an_encoder_is_refused(name: str) -> None:
    """It would hold the edges of the graph it was traced with, and give other graphs the neighbours of that one."""
    encoder, data = gm.encoders.build(name, in_channels=6, hidden_channels=8).eval(), ring()
    with pytest.raises(InputError, match="export_encoder"):
        torch.jit.trace(encoder, (data.x, data.edge_index))
    with pytest.raises(Exception, match="export_encoder"):
        torch.export.export(encoder, (data.x, data.edge_index), strict=False)


def test_features_of_another_type_or_width() -> None:
    """encoder(x.double(), …), and the 6 features of a table where the model sees 13: two shapes of matrices."""
    encoder, data = small_model().encoder, ring()
    with pytest.raises(DataError, match=r"float64.*x\.float\(\)"):
        encoder(data.x.double(), data.edge_index)
    with pytest.raises(DataError, match=r"\(20, 5\).*\[nodes, 6\]"):
        encoder(data.x[:, :5], data.edge_index)
    assert encoder.double()(data.x.double(), data.edge_index).dtype == torch.float64
    with pytest.raises(DataError, match=r"encoder\.float\(\)"):
        encoder(data.x, data.edge_index)


@pytest.mark.parametrize("wrong", [5, None, b"runs/mine", ["runs/mine"]], ids=str)
def test_a_model_that_is_no_folder(wrong: Any) -> None:
    """gm.load(5), and gm.load(None) where a variable was not set."""
    for use in (gm.load, gm.load_predictor, lambda model: gm.embed(model, ring()), lambda m: gm.predict(m, ["CCO"])):
        with pytest.raises(InputError, match=type(wrong).__name__):
            use(wrong)


@pytest.mark.parametrize("wrong", [5, b"x.csv", ["x.csv"]], ids=str)
def test_an_out_that_is_no_path(wrong: Any) -> None:
    """out=5 ended in 'expected str, bytes or os.PathLike object'."""
    with pytest.raises(InputError, match=f"out must be a path.*{type(wrong).__name__}"):
        gm.embed(small_model(), ring(), out=wrong)
    with pytest.raises(InputError, match=f"out must be a path.*{type(wrong).__name__}"):
        gm.pretrain(small_model(), ring(), 1, out=wrong, progress=False)


def predictor() -> Any:
    torch.manual_seed(0)
    encoder = gm.encoders.build("molecule-gin", in_channels=124, hidden_channels=8, num_layers=2)
    made = gm.Predictor(encoder, ["toxic"])
    made.inputs = {"features": "molecule", "self_loops": True}
    return made.eval()


def test_molecules_in_a_column_of_a_table() -> None:
    """gm.predict(run, df["SMILES"]): 'the truth value of a Series is ambiguous'."""
    import pandas as pd

    texts = ["CCO", "c1ccccc1", "no molecule"]
    expected = np.asarray(gm.predict(predictor(), texts))
    assert np.isnan(expected).ravel().tolist() == [False, False, True]
    frame = pd.DataFrame({"SMILES": texts}, index=[7, 3, 5])
    for column in (frame["SMILES"], np.array(texts), np.array(texts, dtype=object), tuple(texts), iter(texts)):
        assert np.array_equal(np.asarray(gm.predict(predictor(), column)), expected, equal_nan=True)
    assert gm.explain(predictor(), frame["SMILES"])[2] is None


@pytest.mark.parametrize("missing", ["None", "NaN", "NA", "empty"])
def test_an_empty_cell_among_molecules(missing: str) -> None:
    """NaN for what is no molecule, as the documentation promises; None ended in a TypeError."""
    import pandas as pd

    cell = {"None": None, "NaN": float("nan"), "NA": pd.NA, "empty": ""}[missing]
    one = float(gm.predict(predictor(), ["CCO"])[0, 0])
    found = gm.predict(predictor(), ["CCO", cell])[:, 0].tolist()
    assert found[0] == pytest.approx(one) and math.isnan(found[1])
    assert {len(column) for column in gm.predict(predictor(), ["CCO", cell], details=True).values()} == {2}
    assert gm.explain(predictor(), ["CCO", cell])[1] is None


@pytest.mark.parametrize("wrong", [["CCO", 5], {"CCO": 1}, 5, [["CCO"]], [b"CCO"]], ids=str)
def test_molecules_that_are_no_texts(wrong: Any) -> None:
    """A sentence, and not the names of a table's columns taken for molecules."""
    import pandas as pd

    for molecules in (wrong, pd.DataFrame({"SMILES": ["CCO"]})):
        for use in (gm.predict, gm.explain):
            with pytest.raises(InputError, match="SMILES"):
                use(predictor(), molecules)


# Files that are written


WRITER = """
import sys, time
from graphmae.runtime.files import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def begin_to_write(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def test_what_a_killed_command_left_half_written_is_removed(tmp_path: Path) -> None:
    """`.z.csv.4711.partial.csv` stayed for ever; one that a living process writes must stay."""
    with begin_to_write(tmp_path / "z.csv") as killed, begin_to_write(tmp_path / "other.csv") as living:
        killed.kill()
        killed.wait()
        names = [file.name for file in tmp_path.iterdir()]
        assert sorted(name.split(".")[1] for name in names) == ["other", "z"]
        gm.embed(small_model(), ring(), out=tmp_path / "z.csv")
        left = [file.name for file in tmp_path.iterdir()]
        living.kill()
    assert len(left) == 2 and "z.csv" in left and any(name.startswith(".other.csv") for name in left)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_standard_output_is_named() -> None:
    """'No space left on device', and nobody knew where: three disks had room."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "graphmae", "recipes", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    check_sentence(done, "standard output", "No space left", code=1)


def test_a_full_cache_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Molecules are parsed into the cache; the system does not say which file a write that failed was for."""
    written = Path.write_text

    def write_text(self: Path, *arguments: Any, **named: Any) -> int:
        if self.name == "made_of.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(self, *arguments, **named)

    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "few.smi").write_text("CCO\nCCC\n")
    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(WriteError, match=r"cache.*cannot be written: no space left"):
        gm.data.open(tmp_path / "few.smi")


@pytest.mark.parametrize(("mean", "std"), [(1e308, 1.0), (-1e200, 1.0), (1e308, 1e308), (0.0, 1e-300)])
def test_drift_from_numbers_that_were_never_measured(work: Path, tmp_path: Path, mean: float, std: float) -> None:
    """A forged or damaged checkpoint: a sentence with numbers of 300 digits."""
    run = copied_run(work, tmp_path)
    config = json.loads((run / "config.json").read_text())
    (age,) = [column for column in config["inputs"]["columns"] if column["name"] == "age"]
    age.update(mean=mean, std=std)
    (run / "config.json").write_text(json.dumps(config))
    lines = gm.drift(run, [str(work / "nodes.csv"), str(work / "edges.csv")]).lines()
    assert lines and max(map(len, lines)) < 200
