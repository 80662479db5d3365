"""An assay to a predictor that is several models, to predictions one can trust, to a ranked library and pictures."""

from __future__ import annotations

import base64
import csv
import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import graphmae as gm
from graphmae.api import prediction
from graphmae.cli.main import app
from graphmae.data.molecules.descriptors import WIDTH
from graphmae.experiments import library
from graphmae.finetuning import Committee
from graphmae.runtime.errors import ConfigError, DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")

RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "C1CCNCC1", "c1ccc2ccccc2c1", "C1CCOCC1", "c1ccoc1"]
TAILS = ["O", "N", "OC(=O)", "O=[N+]([O-])", "F", "N#C", "CO", "NC(=O)", "Cl", "CC"]
SMALL = ["train.epochs=2", "train.batch_size=64", "encoder.hidden_channels=16", "encoder.num_layers=2"]
MEMBERS = (
    'finetune.members=["finetuned","ecfp-linear","ecfp-kernel","descriptors-boosting","descriptors-forest",'
    '"ecfp-descriptors-kernel"]'
)
QUICK = [MEMBERS, "finetune.epochs=2", "finetune.search=false", "finetune.lr=0.01", "finetune.folds=3"]


def molecules() -> list[str]:
    """Rings with a chain and a group at its end: 8 scaffolds, 240 molecules."""
    return [f"{tail}{'C' * chain}{ring}" for ring in RINGS for chain in (1, 2, 3) for tail in TAILS]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHMAE_CACHE", str(folder / "cache"))
        (folder / "some.smi").write_text("\n".join(molecules()) + "\n")
        gm.pretrain("auto", str(folder / "some.smi"), out=folder / "run", overrides=SMALL, progress=False)
        return folder / "run"


@pytest.fixture(scope="module")
def assay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Class: is there a nitrogen? One in nine is wrong. Number: how long, with some noise."""
    rows, noise = ["name,smiles,nitrogen,length"], np.random.default_rng(0)
    for number, text in enumerate(molecules()):
        nitrogen = ("n" in text.lower()) != (number % 9 == 4)
        rows.append(f"m{number},{text},{int(nitrogen)},{len(text) + noise.normal():.2f}")
    path = tmp_path_factory.mktemp("assay") / "assay.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def runs(checkpoint: Path, assay: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/classes: two seeds; runs/numbers: one."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHMAE_CACHE", str(folder / "cache"))
        for name, target, seeds in (("classes", "nitrogen", (0, 1)), ("numbers", "length", (0,))):
            gm.finetune(
                checkpoint, assay, [target], folder / name, split="random", seeds=seeds, overrides=QUICK, progress=False
            )
    return folder


def test_members_are_compared_inside_and_scored_once_on_the_test_part(runs: Path) -> None:
    result = json.loads((runs / "classes" / "result.json").read_text())
    rows = result["runs"][0]["rows"]
    assert set(rows) == {*json.loads(MEMBERS.partition("=")[2]), "automatic"}
    assert result["rule"] == "test" and all({"test", "inner"} <= set(row) for row in rows.values())
    chosen = result["runs"][0]["chosen"]
    assert sum(chosen["weights"].values()) == pytest.approx(1) and set(chosen["weights"]) <= set(rows)
    assert {row: value["weight"] for row, value in rows.items() if value.get("weight")} == pytest.approx(
        {name: 100 * weight for name, weight in chosen["weights"].items()}
    )
    assert rows["automatic"]["test"] > 70
    assert {"before", "after"} == set(chosen["calibration_error"])
    card = (runs / "classes" / "seed-0" / "README.md").read_text()
    assert "descriptors-boosting" in card and "graphmae predict" in card
    assert not list((runs / "classes").rglob("state*"))  # nothing is left to resume from
    numbers = json.loads((runs / "numbers" / "result.json").read_text())["runs"][0]
    assert numbers["rows"]["automatic"]["test"] < 3 and 60 < numbers["rows"]["automatic"]["coverage"] <= 100
    assert 80 < numbers["chosen"]["coverage"]["inner"] < 97


def test_a_second_predictor_learns_from_the_test_part_too_and_the_scores_are_of_the_first(
    checkpoint: Path, assay: Path, runs: Path, tmp_path: Path
) -> None:
    given = [
        str(checkpoint),
        str(assay),
        "-t",
        "length",
        "--split",
        "random",
        "--refit",
        "--out",
        str(tmp_path / "run"),
    ]
    done = CliRunner().invoke(app, ["finetune", *given, *[word for key in QUICK for word in ("--set", key)]])
    assert done.exit_code == 0, done.output
    assert f"graphmae predict {tmp_path / 'run' / 'final'} new.csv" in done.output.replace("\n", " ")
    first, plain = (json.loads((path / "result.json").read_text()) for path in (tmp_path / "run", runs / "numbers"))
    assert first["runs"][0]["rows"] == plain["runs"][0]["rows"]
    table = list(csv.DictReader(assay.open()))
    parts = list(csv.DictReader((tmp_path / "run" / "split.csv").open()))
    tested = [table[int(row["row"]) - 1] for row in parts if row["part"] == "test"]
    texts, truth = [row["smiles"] for row in tested], np.array([float(row["length"]) for row in tested])
    before, after = (gm.predict(path, texts, details=True) for path in (tmp_path / "run", tmp_path / "run" / "final"))
    assert before["length_predicted"] == gm.predict(runs / "numbers", texts, details=True)["length_predicted"]
    assert (
        max(before["tanimoto"]) < 1
        and min(after["tanimoto"]) == 1
        and after["nearest_id"] == [r["name"] for r in tested]
    )
    error = [np.abs(np.array(found["length_predicted"]) - truth).mean() for found in (before, after)]
    assert error[1] < 0.9 * error[0]
    config = json.loads((tmp_path / "run" / "final" / "seed-0" / "config.json").read_text())
    assert config["weights"] == first["runs"][0]["chosen"]["weights"] and config["trained_on"]["molecules"] == len(
        table
    )
    assert "of the test part were learned from" in (tmp_path / "run" / "final" / "seed-0" / "README.md").read_text()
    assert not list((tmp_path / "run").rglob("state*"))
    with pytest.raises(ConfigError, match=r"finetune\.refit needs finetune\.members"):
        gm.finetune(checkpoint, assay, ["length"], tmp_path / "x", overrides=["finetune.members=[]"], refit=True)


def test_all_seeds_predict_together_and_a_saved_predictor_is_the_same(runs: Path) -> None:
    texts = ["NCCc1ccccc1", "no molecule", "OCCC1CCCCC1"]
    single = [gm.predict(runs / "classes" / f"seed-{seed}", texts) for seed in (0, 1)]
    both = gm.predict(runs / "classes", texts)
    assert torch.allclose(both, (single[0] + single[1]) / 2, equal_nan=True)
    assert not torch.allclose(single[0][::2], single[1][::2])
    assert both[1].isnan().all() and both[0] > both[2]
    details = gm.predict(runs / "classes", texts, details=True)
    between = abs(float(single[0][0] - single[1][0])) / 2
    assert details["nitrogen_spread"][0] >= between * 0.99


def test_a_table_is_predicted_by_several_runs_one_after_another_and_again(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles,price\nNCCc1ccccc1,3\nOCCC1CCCCC1,4\n")
    for source, run, out in (
        ("new", "classes", "a"),
        ("new", "numbers", "b"),
        ("a", "numbers", "c"),
        ("c", "classes", "d"),
    ):
        gm.predict(runs / run, tmp_path / f"{source}.csv", out=tmp_path / f"{out}.csv")
    a, b, c, d = ([*csv.DictReader((tmp_path / f"{name}.csv").open())] for name in "abcd")
    near = ("nearest_smiles", "nearest_id", "tanimoto", "embedding_similarity", "domain", "problem")
    for row, first, second, again in zip(c, a, b, d, strict=True):
        assert {key: row[key] for key in first} == first
        assert {key: row[f"length_{key}" if key in near else key] for key in second} == second
        assert again == row and len(row) == len({*first, *second}) + len(near)


def test_a_run_goes_on_only_with_the_molecules_and_the_checkpoint_it_began_with(
    checkpoint: Path, assay: Path, tmp_path: Path
) -> None:
    """Otherwise seeds of two tables were averaged without a word."""
    shutil.copy(assay, tmp_path / "assay.csv")
    shutil.copytree(checkpoint, tmp_path / "model")

    def go_on(seeds: tuple[int, ...]) -> None:
        gm.finetune(
            tmp_path / "model", tmp_path / "assay.csv", ["length"], tmp_path / "run", seeds=seeds, resume=True,
            split="random", overrides=['finetune.members=["ecfp-linear"]'], progress=False,
        )  # fmt: skip

    go_on((0,))
    go_on((0,))
    table = (tmp_path / "assay.csv").read_text()
    (tmp_path / "assay.csv").write_text(table.replace(".5", ".6"))
    with pytest.raises(InputError, match=r"the molecules changed since the run in .* began"):
        go_on((0, 1))
    (tmp_path / "assay.csv").write_text(table)
    model = gm.load(tmp_path / "model")
    with torch.no_grad():
        next(model.parameters()).add_(1)
    shutil.rmtree(tmp_path / "model")
    model.save_pretrained(tmp_path / "model")
    with pytest.raises(InputError, match="the checkpoint changed"):
        go_on((0, 1))
    (tmp_path / "run/inputs.json").unlink()  # as runs of older versions
    go_on((0, 1))


def test_cells_with_ends_of_lines_keep_their_rows_together(runs: Path, tmp_path: Path) -> None:
    """Excel writes them into notes. Without quotes such a row was two, and of the best three two were written."""
    notes = ["line one\rline two", "x\ny\nz", "x\r\ny", "", 'say "b"']
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["note", "smiles"], *zip(notes, molecules()[:5], strict=True)])
    for options in ({}, {"sort": "length"}, {"top": 3}):
        gm.predict(runs / "numbers", tmp_path / "new.csv", out=tmp_path / "out.csv", **options)
        with (tmp_path / "out.csv").open(newline="") as file:
            rows = [*csv.DictReader(file)]
        assert len(rows) == options.get("top", 5) and {row["problem"] for row in rows} == {""}
        assert {row["note"] for row in rows} <= set(notes) and all(float(row["length_predicted"]) for row in rows)


def test_a_molecule_unlike_all_others_is_out_of_the_domain(runs: Path) -> None:
    found = gm.predict(runs / "classes", ["CCO", "NCCc1ccccc1", "C[Si](C)(C)Br"], details=True)
    assert found["domain"] == ["out", "in", "out"]
    assert 0.01 < found["nitrogen_predicted"][0] < 0.99  # a ninth of the labels is wrong: nothing is certain
    assert found["tanimoto"][1] == 1.0 and found["nearest_smiles"][1] == "NCCc1ccccc1"
    assert found["nearest_id"][1] not in ("", "NCCc1ccccc1")


def test_a_library_is_streamed_ranked_and_gone_on_with(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "PART", 50)
    texts = [*molecules()[:120], "bad("]
    (tmp_path / "new.smi").write_text("\n".join(texts) + "\n")
    where = runs / "numbers"
    values = gm.predict(where, tmp_path / "new.smi", out=tmp_path / "all.csv")
    rows = [*csv.DictReader((tmp_path / "all.csv").open())]
    assert [row["smiles"] for row in rows] == texts and rows[-1]["problem"] == "not a molecule"
    assert float(rows[3]["length_low"]) < float(rows[3]["length_predicted"]) < float(rows[3]["length_high"])
    assert np.allclose([float(row["length_predicted"]) for row in rows[:-1]], values[:-1, 0], rtol=1e-4)
    assert torch.allclose(values[:5], gm.predict(where, texts[:5]), atol=1e-4)
    assert not (tmp_path / "all.csv.parts").exists()

    calls = []
    whole = library._predict

    def stopping(job, committee, part, device):  # type: ignore[no-untyped-def]
        calls.append(part.number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(job, committee, part, device)

    monkeypatch.setattr(library, "_predict", stopping)
    with pytest.raises(KeyboardInterrupt):
        gm.predict(where, tmp_path / "new.smi", out=tmp_path / "best.csv", top=7, sort="length")
    gm.predict(where, tmp_path / "new.smi", out=tmp_path / "best.csv", top=7, sort="length")
    assert calls == [0, 1, 1, 2]  # the first part was kept
    best = [float(row["length_predicted"]) for row in csv.DictReader((tmp_path / "best.csv").open())]
    assert np.allclose(best, sorted(values[:-1, 0].tolist(), reverse=True)[:7], rtol=1e-4)
    gm.predict(where, tmp_path / "new.smi", out=tmp_path / "low.tsv", sort="-length")
    low = [*csv.DictReader((tmp_path / "low.tsv").open(), delimiter="\t")]
    assert len(low) == 121 and low[-1]["problem"] == "not a molecule"
    assert float(low[0]["length_predicted"]) == pytest.approx(float(values[:-1].min()), rel=1e-4)
    with pytest.raises(InputError, match="unknown target to sort by 'lenght'"):
        gm.predict(where, tmp_path / "new.smi", out=tmp_path / "x.csv", sort="lenght")


def test_processes_predict_what_one_process_does(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new.smi").write_text("\n".join([*molecules(), "bad("]) + "\n")
    where = runs / "numbers"
    alone = gm.predict(where, tmp_path / "new.smi", out=tmp_path / "one.csv", sort="length", device="cpu")
    monkeypatch.setattr(library, "PART", 40)
    monkeypatch.setattr(library, "FEW", 80)
    monkeypatch.setattr(library, "cpu_count", lambda: 2)
    own, whole = [], library._predict

    def here(job, committee, part, device):  # type: ignore[no-untyped-def]
        own.append(part.number)
        return whole(job, committee, part, device)

    monkeypatch.setattr(library, "_predict", here)
    both = gm.predict(where, tmp_path / "new.smi", out=tmp_path / "two.csv", sort="length", device="cpu")
    assert 0 < len(own) < 7  # the other process had a share, and this one was not idle
    assert torch.allclose(alone, both, rtol=1e-4, atol=1e-4, equal_nan=True)
    tables = [[*csv.DictReader((tmp_path / name).open())] for name in ("one.csv", "two.csv")]
    assert len(tables[0]) == len(tables[1]) == 241 and tables[1][-1]["problem"] == "not a molecule"
    lengths = [float(row["length_predicted"]) for row in tables[1][:-1]]
    assert lengths == sorted(lengths, reverse=True)


def test_molecules_out_of_the_domain_are_left_out_where_that_is_asked(runs: Path, tmp_path: Path) -> None:
    texts = ["[Fe] iron", "NCCCC1CCCCC1 amine", "bad( broken", "OCCCC1CCCCC1 alcohol", "C[Si](C)(C)Br silane"]
    (tmp_path / "new.smi").write_text("\n".join(texts) + "\n")
    words = ["predict", str(runs / "numbers"), str(tmp_path / "new.smi"), "-o", str(tmp_path / "in.csv"), "--in-domain"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "of 5 rows those in the predictor's domain are in" in done.stdout
    assert done.stdout.endswith("; 1 of the 5 rows is not a molecule\n")
    rows = [*csv.DictReader((tmp_path / "in.csv").open())]
    assert [row["id"] for row in rows] == ["amine", "alcohol"] and {row["domain"] for row in rows} == {"in"}
    values = gm.predict(runs / "numbers", tmp_path / "new.smi", out=tmp_path / "best.csv", in_domain=True, top=1)
    best = [row["id"] for row in csv.DictReader((tmp_path / "best.csv").open())]
    assert best == ["amine" if values[1] > values[3] else "alcohol"]
    assert values.isnan().tolist() == [[False], [False], [True], [False], [False]]
    with pytest.raises(InputError, match="in_domain are for a table that is written"):
        gm.predict(runs / "numbers", tmp_path / "new.smi", in_domain=True)
    with pytest.raises(InputError, match="a file that is read here"):
        gm.predict(runs / "numbers", tmp_path / "in.csv", out=tmp_path / "in.csv", in_domain=True)
    assert len([*csv.DictReader((tmp_path / "in.csv").open())]) == 2


def test_the_page_of_a_run_shows_which_atoms(runs: Path, tmp_path: Path) -> None:
    page = gm.report(runs / "classes", tmp_path / "page.html").read_text()
    titles = [page.index(f"nitrogen: {title}") for title in ("predicted highest", "furthest from what was measured")]
    assert titles == sorted(titles)
    captions = re.findall(
        r"<figcaption>(m\d+): measured ([01]), predicted ([\d.]+); darkest atom \S+ logits</figcaption>", page
    )
    assert len(captions) == len({name for name, _, _ in captions}) == 12
    highest, furthest = (np.array([[float(a), float(b)] for _, a, b in part]) for part in (captions[:8], captions[8:]))
    assert (np.diff(highest[:, 1]) <= 0).all() and (furthest[:, 1] <= highest[:, 1].min()).all()
    assert (np.diff(np.abs(furthest[:, 0] - furthest[:, 1])) <= 1e-3).all()
    pictures = [base64.b64decode(text).decode() for text in re.findall(r"svg\+xml;base64,([^\"]+)\"", page)]
    assert len(pictures) == 12 and all("<svg" in text and "ellipse" in text for text in pictures)


def test_a_predictor_that_learned_nothing_says_so(assay: Path, tmp_path: Path) -> None:
    """Noise instead of measurements; and with too few molecules nothing is tried."""
    noise = np.random.default_rng(3).normal(size=240)
    rows = [f"{text},{value:.3f}" for text, value in zip(molecules(), noise, strict=True)]
    (tmp_path / "noise.csv").write_text("\n".join(["smiles,value", *rows]) + "\n")
    words = ["finetune", "molecule-zinc", str(tmp_path / "noise.csv"), "--out", str(tmp_path / "run")]
    words += ["--split", "random", "--set", 'finetune.members=["ecfp-linear"]']
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "(24 molecules) the predictor is no better than the mean" in done.stdout
    (tmp_path / "few.csv").write_text("smiles,value\nCCO,1\nCCN,2\nCCC,3\n")
    with pytest.raises(DataError, match="3 molecules are too few: 5 to train on"):
        gm.finetune("molecule-zinc", tmp_path / "few.csv", ["value"], tmp_path / "few", progress=False)


def test_atoms_are_drawn_and_those_that_matter_stand_out(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "new.smi").write_text("NCCCC1CCCCC1\nOCCCC1CCCCC1\nbad(\n")
    done = CliRunner().invoke(
        app, ["explain", str(runs / "classes"), str(tmp_path / "new.smi"), "-o", str(tmp_path / "a.svg"), "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["molecules"]
    assert found[2] is None and len(found[0]["atoms"]) == 10
    assert int(np.argmax(found[0]["atoms"])) == 0  # the nitrogen
    assert "<svg" in (tmp_path / "a.svg").read_text()
    gm.explain(runs / "classes", ["NCCc1ccccc1"], tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 10
    gm.explain(runs / "classes", tmp_path / "new.smi", tmp_path / "named.csv")
    assert (tmp_path / "named.csv").read_text().startswith("molecule,name,smiles,atom,contribution\n1,")
    with pytest.raises(InputError, match="unknown target"):
        gm.explain(runs / "classes", ["CCO"], target="other")


def test_what_is_outside_of_the_domain_is_said_aloud(
    runs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "new.smi").write_text("[Fe] iron\nNCCCC1CCCCC1 amine\n")
    caplog.set_level("WARNING", "graphmae")
    gm.predict(runs / "numbers", tmp_path / "new.smi", out=tmp_path / "all.csv", device="cpu")
    assert "1 of the 2 molecules in the table are unlike all the predictor was trained on" in caplog.text
    gm.explain(runs / "numbers", tmp_path / "new.smi", tmp_path / "a.svg", top=1)
    found = gm.explain(runs / "numbers", tmp_path / "new.smi", tmp_path / "a.csv", top=1)
    assert [one and one["in_domain"] for one in found] == [False]


def test_a_target_goes_by_the_name_of_its_column_too(runs: Path, caplog: pytest.LogCaptureFixture) -> None:
    from dataclasses import replace

    model = gm.load_predictor(runs / "numbers" / "seed-0")
    committee = Committee((replace(model, names=("pIC50(IC50 (nM))",)),))
    assert committee.target("IC50 (nM)") == committee.target("pIC50(IC50 (nM))") == 0
    with pytest.raises(InputError, match="unknown target"):
        committee.target("nM")
    log = Committee((replace(model, names=("log10(IC50 (nM))",)),))
    assert not prediction._order(log, "-IC50 (nM)", 3).descending
    for sort in ("IC50 (nM)", "-IC50 (nM)"):  # the lowest concentration is the highest pIC50: which is meant is asked
        with pytest.raises(InputError, match=r"Most potent first: --sort 'pIC50\(IC50 \(nM\)\)'"):
            prediction._order(committee, sort, 3)
    assert prediction._order(committee, "pIC50(IC50 (nM))", 3).descending
    prediction._order(committee, "", 3)
    assert "concentration" not in caplog.text
    prediction._order(Committee((replace(model, names=("IC50 (nM)",)),)), "", 3)
    assert "looks like a concentration" in caplog.text


def test_a_damaged_predictor_is_refused(runs: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(runs / "numbers" / "seed-0", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "weights": {"all-boosting": 1.0}}))
    with pytest.raises(InputError, match="members that are not there"):
        gm.predict(folder, ["CCO"])
    (folder / "config.json").write_text(json.dumps({**config, "tuned": 7}))
    with pytest.raises(InputError, match="does not fit"):
        gm.predict(folder, ["CCO"])
    (folder / "config.json").write_text(json.dumps({**config, "tuned": 10**6}))
    with pytest.raises(ConfigError, match="tuned must be"):
        gm.predict(folder, ["CCO"])
    grown = [{**entry, "width": entry["width"] + bool(entry["width"])} for entry in config["members"]]
    assert grown != config["members"]
    (folder / "config.json").write_text(json.dumps({**config, "members": grown}))
    with pytest.raises(InputError, match="fine-tune again"):
        gm.predict(folder, ["CCO"])


def test_finished_trainings_are_kept_by_a_run_that_is_interrupted(
    checkpoint: Path, assay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphmae.finetuning import encoders

    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    options = [*QUICK, 'finetune.members=["finetuned"]', "finetune.epochs=1"]
    where = {"split": "random", "overrides": options, "progress": False}
    gm.finetune(checkpoint, assay, ["nitrogen"], tmp_path / "whole", **where)
    calls, train = [], encoders.train_one

    def stopping(task):  # type: ignore[no-untyped-def]
        calls.append(task.number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(task)

    monkeypatch.setattr(encoders, "train_one", stopping)
    with pytest.raises(KeyboardInterrupt):
        gm.finetune(checkpoint, assay, ["nitrogen"], tmp_path / "run", **where)
    gm.finetune(checkpoint, assay, ["nitrogen"], tmp_path / "run", resume=True, **where)
    assert calls == [0, 1, 1, 2]
    texts = ["NCCc1ccccc1"]
    assert torch.equal(gm.predict(tmp_path / "run", texts), gm.predict(tmp_path / "whole", texts))


def test_pre_training_goes_on_from_a_model_and_keeps_its_origin(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.smi").write_text("\n".join(molecules()[:60]) + "\n")
    before = gm.load(checkpoint)
    made = gm.pretrain("auto", str(tmp_path / "mine.smi"), 1, tmp_path / "run", start=checkpoint, progress=False)
    card = (tmp_path / "run" / "README.md").read_text()
    assert "started from: run (data some, graphs 240, epochs 2)" in card
    first, second = before.encoder.embed.weight.detach(), made.encoder.embed.weight.detach()
    assert first.shape == second.shape and 0 < float((first - second).abs().max()) < 0.1
    with pytest.raises(InputError, match="cannot be changed"):
        gm.pretrain("auto", str(tmp_path / "mine.smi"), start=checkpoint, overrides=["encoder.num_layers=3"])


def test_similar_molecules_by_embedding_and_by_fingerprint(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "some.smi").write_text("\n".join([*molecules(), "bad("]) + "\n")
    found = gm.similar(checkpoint, str(tmp_path / "some.smi"), "OCc1ccccc1", k=5)
    assert len(found) == 5 and all(row[0] != "OCc1ccccc1" for row in found)
    cosines = [row[2] for row in found]
    assert cosines == sorted(cosines, reverse=True) and all(90 < row[3] <= 100 for row in found)
    assert all(0 < row[4] < 1 for row in found)
    with pytest.raises(InputError, match="is not a molecule"):
        gm.similar(checkpoint, str(tmp_path / "some.smi"), "p00538")


def test_molecules_in_a_scikit_learn_pipeline(checkpoint: Path) -> None:
    texts, y = molecules(), [len(text) for text in molecules()]
    embedder = gm.MoleculeEmbedder(model=str(checkpoint), features="embedding+descriptors")
    rows = embedder.fit_transform(texts)
    assert rows.shape == (240, 16 + WIDTH) == (240, len(embedder.get_feature_names_out()))
    assert np.allclose(rows[:, :16], gm.MoleculeEmbedder(str(checkpoint)).fit_transform(texts), atol=1e-5)
    again = pickle.loads(pickle.dumps(embedder))
    assert np.allclose(again.transform(texts[:3]), rows[:3], atol=1e-5) and b"tensor" not in pickle.dumps(embedder)
    scores = cross_val_score(make_pipeline(clone(embedder), Ridge()), texts, y, cv=3)
    assert scores.min() > 0.3
    with pytest.raises(InputError, match="row 1, 'x'"):
        embedder.transform(["CCO", "x"])
    loose = gm.MoleculeEmbedder(str(checkpoint), unreadable="nan").fit(texts)
    assert np.isnan(loose.transform(["x", "CCO"])).any(axis=1).tolist() == [True, False]
