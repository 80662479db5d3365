"""Imports point one way; results know no torch; no drawer is called utils."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/graphmae"
# A package may import from itself and from packages listed before it; a line is a level of the design.
ORDER = [
    ["runtime", "registry", "results"],
    ["config", "kernels", "report"],
    ["layers", "data"],
    ["masking", "encoders", "decoders", "losses", "batching"],
    ["methods"],
    ["training", "inference", "testing"],
    ["evaluation", "finetuning", "pretrained"],
    ["experiments", "estimator"],
    ["api"],
    ["cli", "__main__"],
]
PLACE = {package: place for place, package in enumerate(package for level in ORDER for package in level)}
NEVER = {"data": {"methods", "encoders", "decoders", "training", "layers", "kernels"}, "results": {"kernels", "config"}}


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def packages_imported(path: Path) -> set[str]:
    package = ["graphmae", *path.relative_to(SOURCE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            names = [[*base, *(node.module or "").split("."), alias.name] for alias in node.names]
            found |= {[p for p in name if p][1] for name in names}
    return found


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    package = package_of(path)
    for other in packages_imported(path) - {package}:
        allowed = PLACE[other] < PLACE[package] or (package, other) == ("methods", "pretrained")
        assert allowed, f"{package} must not import {other}"
        assert other not in NEVER.get(package, set())


def test_every_package_is_known() -> None:
    assert {package_of(p) for p in FILES} - {"recipes"} == set(PLACE)


def test_names_say_something_and_files_stay_short() -> None:
    for path in FILES:
        assert path.stem not in {"utils", "helpers", "common", "misc"}
        assert len(path.read_text().splitlines()) <= 350, path
