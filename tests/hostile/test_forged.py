"""Files made by hand to do harm: each is refused in one sentence, within 10 seconds and 1 GB."""

from __future__ import annotations

import gzip
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import config
from graphmae.data.files import from_data, read_graph
from graphmae.data.molecules import parse, stored
from graphmae.data.naming import section_of
from graphmae.data.tables import from_tables
from graphmae.pretrained import from_published
from graphmae.pretrained.predictor import load_predictor
from graphmae.runtime.errors import DataError, GraphMAEError, InputError
from graphmae.runtime.memory import peak_memory
from hostile.kinds import edges_table, graph, write_model, write_predictor, write_published, write_table_model

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    began = time.process_time()  # of this process alone: the machine may be busy
    with peak_memory("cpu") as peak:
        yield
    assert time.process_time() - began < 10
    assert peak.bytes < 1 << 30


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for name, write in (("plain", write_model), ("table", write_table_model), ("predictor", write_predictor)):
        (folder / name).mkdir()
        write(folder / name)
    return folder


def forged(whole: Path, tmp_path: Path, name: str, change: Change) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (whole / name / "model").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    content = json.loads((folder / "config.json").read_text())
    change(content)
    (folder / "config.json").write_text(json.dumps(content))
    return folder


CONFIGS: dict[str, tuple[str, Change]] = {
    "encoder null": ("must be an object", lambda c: c.update(encoder=None)),
    "encoder text": ("must be an object", lambda c: c.update(encoder="gat")),
    "name list": ("must have a name", lambda c: c["encoder"].update(name=[])),
    "name unknown": ("unknown encoder", lambda c: c["encoder"].update(name="../x")),
    "in_channels text": ("whole number", lambda c: c["encoder"].update(in_channels="x")),
    "in_channels true": ("whole number", lambda c: c["encoder"].update(in_channels=True)),
    "remask number": ("remask", lambda c: c["method"].update(remask=5)),
    "drop_edge text": ("drop_edge", lambda c: c["method"].update(drop_edge="a")),
    "mask_edges text": ("mask_edges", lambda c: c["method"].update(mask_edges="yes")),
    "inputs text": ("inputs", lambda c: c.update(inputs="abc")),
    "inputs path": ("kind of features", lambda c: c.update(inputs={"features": "../../x"})),
    "trained_on number": ("trained_on", lambda c: c.update(trained_on=7)),
    "kind list": ("kind", lambda c: c.update(kind=[])),
    "format true": ("format", lambda c: c.update(format=True)),
    "format text": ("format", lambda c: c.update(format="2")),
    "hidden 10^9": ("beyond", lambda c: c["encoder"].update(hidden_channels=10**9)),
    "hidden 10^6": ("model.safetensors", lambda c: c["encoder"].update(hidden_channels=10**6)),
    "layers 10^7": ("at most 1,000", lambda c: c["encoder"].update(num_layers=10**7)),
    "layers negative": ("model", lambda c: c["encoder"].update(num_layers=-1)),
    "heads 0": ("model", lambda c: c["encoder"].update(heads=0)),
    "no encoder": ("lacks 'encoder'", lambda c: c.pop("encoder")),
    "unknown key": ("unknown key", lambda c: c.update(run="rm -rf")),
    "nested": ("deep", lambda c: c["trained_on"].update(data=nested(500))),
    "not a number": ("finite", lambda c: c["encoder"].update(dropout=float("nan"))),
    "views": ("views", lambda c: c.update(views={"in_channels": "x"})),
    "views 10^9": ("beyond", lambda c: c.update(views={"in_channels": 10**9, "learned_channels": 8, "names": ["own"], "width": 10**9})),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("case", CONFIGS)
def test_config_of_a_model(whole: Path, tmp_path: Path, case: str) -> None:
    said, change = CONFIGS[case]
    with pytest.raises(InputError, match=said):
        gm.load(forged(whole, tmp_path, "plain", change))


TABLES: dict[str, Change] = {
    "columns": lambda c: c["inputs"].update(columns={}),
    "column kind": lambda c: c["inputs"]["columns"][0].update(kind="code"),
    "deviation 0": lambda c: c["inputs"]["columns"][0].update(std=0),
    "weights": lambda c: c["inputs"].update(statistics={}),
    "edge kinds": lambda c: c["inputs"].update(edge_kinds=["a"]),
    "views": lambda c: c["views"].update(width=3),
    "view": lambda c: c["views"].update(names=["x"]),
}


@pytest.mark.parametrize("case", TABLES)
def test_config_of_a_model_of_tables(whole: Path, tmp_path: Path, case: str) -> None:
    with pytest.raises(InputError):
        gm.load(forged(whole, tmp_path, "table", TABLES[case]))


PREDICTORS: dict[str, Change] = {
    "targets": lambda c: c.update(targets="toxic"),
    "many targets": lambda c: c.update(targets=["a"] * 100_000),
    "task": lambda c: c.update(task="regress"),
    "readout": lambda c: c.update(readout="mean+" * 1000),
    "dropout": lambda c: c.update(dropout="a"),
}


@pytest.mark.parametrize("case", PREDICTORS)
def test_config_of_a_predictor(whole: Path, tmp_path: Path, case: str) -> None:
    with pytest.raises(InputError):
        load_predictor(forged(whole, tmp_path, "predictor", PREDICTORS[case]))


def test_huge_and_deep_json(whole: Path, tmp_path: Path) -> None:
    folder = forged(whole, tmp_path, "plain", lambda c: None)
    (folder / "config.json").write_text('{"format": ' + deep(200_000) + "}")
    with pytest.raises(InputError, match="nested too deep"):
        gm.load(folder)
    (folder / "config.json").write_bytes(b'{"format": "' + b"x" * (40 << 20) + b'"}')
    with pytest.raises(InputError, match="bytes"):
        gm.load(folder)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(tmp_path: Path, number: float) -> None:
    write_model(tmp_path)
    model = gm.load(tmp_path / "model")
    with torch.no_grad():
        model.bridge.weight[0, 0] = number
    model.save_pretrained(tmp_path / "again")
    with pytest.raises(InputError, match=r"bridge\.weight"):
        gm.load(tmp_path / "again")


def test_a_flipped_bit_in_the_weights_is_noticed(whole: Path, tmp_path: Path) -> None:
    folder = forged(whole, tmp_path, "plain", lambda c: None)
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-3] ^= 1
    (folder / "model.safetensors").write_bytes(raw)
    with pytest.raises(InputError, match="not those that were written"):
        gm.load(folder)
    (folder / "model.safetensors").write_bytes(raw[:-100])
    with pytest.raises(InputError, match="damaged"):
        gm.load(folder)


def test_weights_have_the_permissions_of_their_neighbours(tmp_path: Path) -> None:
    write_model(tmp_path)
    modes = {file.name: oct(file.stat().st_mode) for file in (tmp_path / "model").iterdir()}
    assert len(set(modes.values())) == 1, modes


@pytest.mark.parametrize("value", [float(2**62), 1e30, 1e38, -1e20])
def test_features_too_large_to_compute_with_are_named(value: float) -> None:
    data = graph()
    data.x[7, 3] = value
    with pytest.raises(DataError, match=r"node 7 .*column 3"):
        from_data(data)
    with pytest.raises(DataError, match=r"node 7 .*column 3"):
        gm.pretrain("default", data, epochs=1)


def test_large_features_may_be_standardised() -> None:
    data = graph()
    data.x = data.x * 1e18  # such as times in nanoseconds
    assert float(from_data(data, features="standardize").graphs[0].x.abs().max()) < 10


def test_an_embedding_that_is_not_finite_is_never_handed_on(tmp_path: Path) -> None:
    encoder = gm.encoders.GCN(6, hidden_channels=4, num_layers=2, norm="none", activation="relu")
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.fill_(1e30)
    with pytest.raises(GraphMAEError, match="not finite"):
        gm.embed(encoder, graph(), out=tmp_path / "z.npy")
    assert not (tmp_path / "z.npy").exists()


def sparse(data: Data) -> None:
    data.x = data.x.to_sparse()


def nested_tensor(data: Data) -> None:
    data.x = torch.nested.nested_tensor([torch.rand(2, 6), torch.rand(3, 6)], layout=torch.jagged)


def meta(data: Data) -> None:
    data.x = torch.empty(20, 6, device="meta")


def expanded(data: Data) -> None:
    data.x = torch.zeros(1, 1).expand(10**6, 10**6)


@pytest.mark.parametrize("change", [sparse, nested_tensor, meta, expanded])
def test_unusual_tensors_in_a_saved_graph(tmp_path: Path, change: Callable[[Data], None]) -> None:
    data = graph()
    change(data)
    torch.save(data, tmp_path / "graph.pt")
    with pytest.raises(DataError, match=r"graph\.pt"):
        read_graph(tmp_path / "graph.pt")


def test_arrays_of_another_byte_order_are_read(tmp_path: Path) -> None:
    data = graph()
    np.savez(tmp_path / "g.npz", x=data.x.numpy().astype(">f8"), edge_index=data.edge_index.numpy().astype(">i4"))
    assert torch.equal(read_graph(tmp_path / "g.npz").x, data.x)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of an .npz of 1.5 MB that unpacks to 320 MB; the limit is on the ratio, whatever the size."""
    folder = tmp_path_factory.mktemp("bomb")
    header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 8)))
    header["shape"] = (40 << 20, 1)
    with zipfile.ZipFile(folder / "b.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            for _ in range(20):
                member.write(bytes(1 << 24))
        archive.writestr("edge_index.npy", b"")
    return (folder / "b.npz").read_bytes()


def test_arrays_that_unpack_to_much(tmp_path: Path, packed: bytes) -> None:
    (tmp_path / "b.npz").write_bytes(packed)
    with pytest.raises(DataError, match="fill the memory"):
        read_graph(tmp_path / "b.npz")
    (tmp_path / "b.xlsx").write_bytes(packed)
    with pytest.raises(DataError, match="fill the memory"):
        from_tables(tmp_path / "b.xlsx", edges_table(), quiet=True)
    (tmp_path / "b.csv.zip").write_bytes(packed)
    with pytest.raises(DataError):
        from_tables(tmp_path / "b.csv.zip", edges_table(), quiet=True)


def test_text_that_unpacks_to_much(tmp_path: Path) -> None:
    member = gzip.compress(b"n1,n2\n" * (1 << 21), 1)  # 12 MB
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"source,target\n") + member * 25)
    with pytest.raises(DataError, match="fill the memory"):
        from_tables(None, tmp_path / "b.csv.gz", quiet=True)
    (tmp_path / "b.smi.gz").write_bytes(gzip.compress(b"C" * (1 << 24), 1))
    with pytest.raises(DataError, match="a line of"):
        stored([tmp_path / "b.smi.gz"], "b")


def test_a_sheet_with_one_cell_far_away(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD900000"] = "id", 1
    book.save(tmp_path / "far.xlsx")
    with pytest.raises(DataError, match="cells"):
        from_tables(tmp_path / "far.xlsx", edges_table(), quiet=True)


def test_a_parquet_file_of_very_many_cells(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    column = pa.array(np.zeros(3_000_000, dtype=np.int64))
    pyarrow.parquet.write_table(pa.table({f"c{i}": column for i in range(4)}), tmp_path / "n.parquet")
    with pytest.raises(DataError, match="cells"):
        from_tables(tmp_path / "n.parquet", edges_table(), quiet=True)


def test_pipes_and_devices_are_not_waited_for(whole: Path, tmp_path: Path) -> None:
    folder = forged(whole, tmp_path, "plain", lambda c: None)
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(InputError, match="pipe or a device"):
        gm.load(folder)
    for name in ("nodes.csv", "g.npz", "m.smi", "w.pt"):
        os.mkfifo(tmp_path / name)
    for read in (
        lambda: from_tables(tmp_path / "nodes.csv", edges_table(), quiet=True),
        lambda: read_graph(tmp_path / "g.npz"),
        lambda: from_published(tmp_path / "w.pt"),
    ):
        with pytest.raises(InputError, match="pipe or a device"):
            read()
    for path in (tmp_path / "m.smi", Path("/dev/zero")):
        with pytest.raises(InputError):
            stored([path], "m")


def test_molecules_of_very_many_atoms() -> None:
    assert parse("C" * 100_000) is None
    big = parse("C" * 9_000)
    assert big is not None and len(big.bonds) == 8_999


@pytest.mark.parametrize("text", ["a = " + deep(10_000), "a." * 5000 + "b = 1", "a = " + "9" * 10_000, "[a]\n" * 10])
def test_recipes_nested_deep(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(InputError):
        config.load(tmp_path / "r.toml")


@pytest.mark.parametrize("line", ['{"a": ' + deep(100_000) + "}", '{"id": ' * 1000 + "1" + "}" * 1000])
def test_lines_nested_deep(tmp_path: Path, line: str) -> None:
    (tmp_path / "n.jsonl").write_text(line + "\n")
    with pytest.raises(InputError):
        from_tables(tmp_path / "n.jsonl", edges_table(), quiet=True)


WEIGHTS: dict[str, Change] = {
    "layer 10^9": lambda w: w.update({"encoder.gat_layers.1000000000.bias": torch.zeros(8)}),
    "layer of many digits": lambda w: w.update({f"encoder.gat_layers.{'9' * 5000}.bias": torch.zeros(8)}),
    "rank 0": lambda w: w.update({"encoder_to_decoder.weight": torch.tensor(1.0)}),
    "rank 1": lambda w: w.update({"encoder.gat_layers.0.fc.weight": torch.zeros(8)}),
    "rank 1 of attention": lambda w: w.update({"encoder.gat_layers.0.attn_l": torch.zeros(8)}),
    "token": lambda w: w.update({"enc_mask_token": torch.zeros(0, 5)}),
    "sparse": lambda w: w.update({"enc_mask_token": torch.zeros(1, 5).to_sparse()}),
    "expanded": lambda w: w.update({"encoder_to_decoder.weight": torch.zeros(1, 1).expand(10**6, 10**6)}),
    "NaN": lambda w: w["encoder_to_decoder.weight"].fill_(float("nan")),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_published_weights(tmp_path: Path, case: str) -> None:
    write_published(tmp_path)
    weights = torch.load(tmp_path / "weights.pt", weights_only=True)
    WEIGHTS[case](weights)
    torch.save(weights, tmp_path / "weights.pt")
    with pytest.raises(InputError, match=r"weights\.pt"):
        from_published(tmp_path / "weights.pt")


def test_names_of_sets_and_folders_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sets = ["cora", "tu", "synthetic"]
    assert section_of("tu", sets) == {"name": "tu"}  # nothing here is called so
    for name in ("tu", "cora"):
        (tmp_path / name).mkdir()
    assert section_of("tu", sets) == {"name": "tu", "path": "tu"}
    assert section_of("cora", sets) == {"name": "cora"}  # the set, wherever one stands
    assert section_of("./cora", sets) == {"name": "tu", "path": "./cora"}
    assert section_of(Path("cora"), sets) == {"name": "tu", "path": "cora"}
