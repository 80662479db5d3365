"""What a release needs: one version, a changelog with every command, a citation, templates, workflows, images."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import graphmae
from graphmae.api import COMMANDS

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# https://citation-file-format.github.io, version 1.2.0: keys of a file and of a reference that are used here.
FILE_KEYS = {"cff-version", "message", "title", "version", "license", "authors", "preferred-citation", "date-released"}
REFERENCE_KEYS = {"type", "title", "authors", "collection-title", "year", "doi", "start", "end", "url"}
REFERENCE_TYPES = {"article", "book", "conference-paper", "proceedings", "report", "software"}
PERSON_KEYS = {"family-names", "given-names", "name-particle", "name-suffix", "orcid", "affiliation"}


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def test_the_version_is_written_once() -> None:
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    file = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    (found,) = re.findall(r'^__version__ = "(\d+\.\d+\.\d+)"$', file.read_text(), re.MULTILINE)
    assert graphmae.__version__ == found
    assert "version" not in read("CITATION.cff")


def test_the_changelog_has_the_usual_form_and_every_command() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert text.startswith("# Changelog\n")
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", title) for title in titles[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds
    assert [name for name in COMMANDS if f"`graphmae {name}`" not in text] == []


def test_the_citation_follows_its_format() -> None:
    citation = read("CITATION.cff")
    assert citation["cff-version"] == "1.2.0" and {"message", "title", "authors"} <= citation.keys() <= FILE_KEYS
    assert citation["license"] == PROJECT["project"]["license"]["text"]
    paper = citation["preferred-citation"]
    assert {"type", "title", "authors"} <= paper.keys() <= REFERENCE_KEYS and paper["type"] in REFERENCE_TYPES
    assert isinstance(paper["year"], int)
    for person in [*citation["authors"], *paper["authors"]]:
        assert set(person) == {"name"} or set(person) <= PERSON_KEYS
    bibtex = (ROOT / "docs/citing.md").read_text("utf-8")
    names = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
    assert names in bibtex and paper["title"] in bibtex and paper["collection-title"] in bibtex


def test_issue_templates_have_what_the_forge_asks_for() -> None:
    forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) >= 3
    for path in forms:
        form = read(path.relative_to(ROOT).as_posix())
        assert {"name", "description", "body"} <= form.keys()
        ids = [field["id"] for field in form["body"]]
        assert len(set(ids)) == len(ids) and all(field["attributes"]["label"] for field in form["body"])


def test_the_workflow_runs_what_ci_runs_and_a_smoke_test_elsewhere() -> None:
    jobs = read(".github/workflows/ci.yml")["jobs"]
    assert ".ci/run" in [step.get("run") for step in jobs["everything"]["steps"]]
    assert jobs["everything"]["runs-on"].startswith("ubuntu")
    assert {name.split("-")[0] for name in jobs["smoke"]["strategy"]["matrix"]["os"]} == {"macos", "windows"}
    steps = [step.get("run", "") for step in jobs["smoke"]["steps"]]
    assert any(step.startswith("graphmae demo") for step in steps) and "python tests/packaging/core_only.py" in steps


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_an_image_runs_the_demo_and_not_as_root(kind: str) -> None:
    text = (ROOT / f"docker/{kind}.Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "ARG", "RUN", "WORKDIR", "COPY", "USER", "ENV", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in lines} <= known
    last = dict(lines)
    assert last["ENTRYPOINT"] == '["graphmae"]' and last["CMD"] == '["demo"]' and last["USER"] != "root"
    assert not re.search(r"FROM \S+:latest|FROM [^:\s]+$", text, re.MULTILINE), "name a version of the image"
    ignored = (ROOT / ".dockerignore").read_text().split()
    for sources in (value.split()[:-1] for name, value in lines if name == "COPY"):
        for source in sources:
            assert (ROOT / source).exists() and f"!{source}" in ignored, f"{source} is not sent to the builder"
    extras = re.findall(r'"\.\[([a-z,]+)\]"', text)[0].split(",")
    assert set(extras) <= PROJECT["project"]["optional-dependencies"].keys()
