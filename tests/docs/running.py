"""Run what a page shows, word for word, in a folder with the files it names. Only trainings are cut short."""

from __future__ import annotations

import gzip
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from docs.pages import ROOT, Block, commands_of
from graphmae import registry, reporting
from graphmae.cli.main import app
from graphmae.data.benchmarks.synthetic import synthetic
from graphmae.experiments import compare, reproduce
from graphmae.runtime.compiled import limit_threads
from graphmae.training import Trainer
from raw_files import write_planetoid, write_rings_and_stars

MOST_TREES = 5
MOST_STEPS, PAPERS, NODES, EXPERIMENTS = 5, 250, 200, 2
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# Fewer repetitions of the same.
FEWER = {r"--seeds 0-\d+": "--seeds 0-1", r"--trials \d+": "--trials 1", r"range\(20\)": "range(2)"}
ONCE = set[str]()  # comparisons of all methods that ran on an earlier page
ADDED = {"compare": ["--budget", "1", "--seeds", "0"], "reproduce": ["--seeds", "1"]}


def prepare_folder(folder: Path) -> None:
    """The files that pages name as the reader's own, and small benchmark sets in the layout of the real ones."""
    write_tables(folder)
    for name, table in {"nodes.csv": "papers.csv", "edges.csv": "citations.csv"}.items():
        (folder / table).rename(folder / name)
        pandas.read_csv(folder / name).to_parquet(folder / name.replace(".csv", ".parquet"))
    rng = np.random.default_rng(0)
    arrays = {"x": rng.random((60, 8), dtype=np.float32), "edge_index": rng.integers(60, size=(2, 200))}
    np.savez(folder / "graph.npz", **arrays, y=np.arange(60) % 3)
    write_rings_and_stars(folder / "my-graphs", 40)
    rings = [f"C1{'C' * size}{atom}1" for size in range(1, 6) for atom in "CNOS"]  # as many scaffolds
    chains = [f"{'C' * (1 + i % 5)}{'N' if i % 3 else 'O'}{rings[i % len(rings)]}" for i in range(60)]
    for name in ("molecules.smi", "mine.smi", "library.smi"):
        (folder / name).write_text("\n".join(chains) + "\n")
    with gzip.open(folder / "library.smi.gz", "wt") as file:
        file.write("\n".join(chains) + "\n")
    (folder / "library.csv").write_text("\n".join(["SMILES", *chains]) + "\n")
    rows = [f"{smiles},{i % 3 > 0:d},{i % 2}" for i, smiles in enumerate(chains)]
    (folder / "assay.csv").write_text("\n".join(["SMILES,active,toxic", *rows]) + "\n")
    potencies = pandas.DataFrame({"SMILES": chains, "IC50 (nM)": [10.0 ** (1 + i % 5) for i in range(len(chains))]})
    potencies.to_excel(folder / "potency.xlsx", index=False)
    (folder / "new.csv").write_text("SMILES\nCCO\nc1ccccc1O\n")
    torch.save(published_weights(features=30), folder / "checkpoint.pt")  # as many as the words of the sets below
    for name in ("Cora", "CiteSeer", "PubMed"):
        write_planetoid(folder / "data", name)
    raw = write_rings_and_stars(folder / "data/TUDataset/MUTAG/raw", 40)
    for file in raw.iterdir():
        file.rename(raw / file.name.replace("SHAPES", "MUTAG"))


def published_weights(features: int, width: int = 8) -> dict[str, torch.Tensor]:
    """A GAT model under the names of the published code."""
    weights = {"enc_mask_token": torch.randn(1, features), "encoder_to_decoder.weight": torch.randn(width, width)}
    layers = {"encoder.gat_layers.0.": (features, width), "encoder.gat_layers.1.": (width, width)}
    for prefix, (given, out) in {**layers, "decoder.gat_layers.0.": (width, features)}.items():
        weights |= {f"{prefix}fc.weight": torch.randn(out, given), f"{prefix}bias": torch.randn(out)}
        weights |= {f"{prefix}{end}": torch.randn(1, 1, out) for end in ("attn_l", "attn_r")}
    return weights | {f"{prefix}activation.weight": torch.tensor([0.1]) for prefix in layers}


def write_tables(folder: Path) -> None:
    """What `python examples/two_tables.py` writes, with fewer papers."""
    spec = importlib.util.spec_from_file_location("two_tables", ROOT / "examples/two_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(folder, PAPERS)
    for name in ("papers.csv", "citations.csv"):  # the paper that pages ask for, which is not among so few
        (folder / name).write_text((folder / name).read_text().replace("p00038", "p00538"))


@contextmanager
def short_trainings() -> Iterator[None]:
    """A few steps each on one thread, a smaller synthetic set, a few experiments of a table."""
    fit, experiments_of, threads = Trainer.fit, reproduce.experiments_of, torch.get_num_threads()

    def some_of(table: str) -> list[Any]:
        cora = [e for e in experiments_of(table) if e.group == "cora"][:EXPERIMENTS]
        return [replace(e, changes=(*e.changes, "train.epochs=2", "evaluation.epochs=2")) for e in cora]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "fit", lambda self, batches, steps: fit(self, batches, min(steps, MOST_STEPS)))
        patch.setattr(synthetic, "__defaults__", (None, NODES, *(synthetic.__defaults__ or ())[2:]))
        patch.setattr(reproduce, "experiments_of", some_of)
        patch.setattr(reporting, "experiments_of", some_of)
        patch.setattr(compare._Arena, "_memory", lambda self, *rest: 0)  # in a process of its own, for every method
        for family, key in ((BaseForest, "n_estimators"), (BaseHistGradientBoosting, "max_iter")):
            patch.setattr(family, "fit", _with_less(family.fit, key))
        limit_threads(1)
        try:
            with threadpool_limits(1):
                yield
        finally:
            limit_threads(threads)


def _with_less(fit: Callable[..., Any], key: str) -> Callable[..., Any]:
    """Few trees in place of hundreds."""
    return lambda self, *data, **options: fit(self.set_params(**{key: MOST_TREES}), *data, **options)


@contextmanager
def own_parts() -> Iterator[None]:
    """What is registered inside is gone afterwards."""
    registries = [registry.find_registry(kind) for kind in registry.PART_MODULES]
    parts = [dict(known._parts) for known in registries]
    try:
        yield
    finally:
        for known, before in zip(registries, parts, strict=True):
            known._parts = before


def run_page(blocks: list[Block], folder: Path) -> None:
    """The blocks one after the other; those of Python see what the ones before have defined."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with own_parts():
        for block in blocks:
            text = block.text
            for pattern, fewer in FEWER.items():
                text = re.sub(pattern, fewer, text)
            try:
                if block.file:
                    (folder / block.file).write_text(text)
                if block.language == "python":
                    exec(compile(text, str(block), "exec"), names)
                else:
                    for line in commands_of(replace(block, text=text)):
                        run_command(shlex.split(line, comments=True), folder)
            except BaseException as error:
                error.add_note(f"in the block at {block}")
                raise


@contextmanager
def new_process() -> Iterator[None]:
    """A command does not know the parts that blocks of Python registered."""
    registries = [registry.find_registry(kind) for kind in registry.PART_MODULES]
    for known in registries:
        known._parts = {name: part for name, part in known._parts.items() if part.__module__ != "__main__"}
    yield


def run_command(words: list[str], folder: Path) -> None:
    program, *arguments = words
    if arguments[:1] == ["compare"] and "--import" not in arguments:
        if shlex.join(words) in ONCE:
            return
        ONCE.add(shlex.join(words))
    if program == "graphmae":
        with own_parts(), new_process():
            done = CliRunner().invoke(app, [*arguments, *ADDED.get(arguments[0], [])], catch_exceptions=False)
        assert done.exit_code == 0, f"{shlex.join(words)}\n{done.output}"
    elif program == "make":
        assert set(arguments) <= TARGETS, f"{shlex.join(words)}: the Makefile has no such target"
    elif words == ["python", "examples/two_tables.py"]:
        write_tables(folder)
    else:
        raise AssertionError(f"{shlex.join(words)}: tests/docs does not know how to run this")
