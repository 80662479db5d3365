"""Imports point one way; results know no torch; no module is called utils."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphmae import api, registry

SOURCE = Path(__file__).parents[2] / "src/graphmae"
# A package may import from itself and from packages listed before it; a line is a level of the design.
ORDER = [
    ["runtime", "registry", "results"],
    ["config", "kernels", "reporting"],
    ["layers", "data"],
    ["batching", "masking", "encoders", "decoders", "losses"],
    ["methods"],
    ["training", "inference", "testing"],
    ["evaluation", "finetuning", "pretrained"],
    ["experiments", "estimator", "molecule_estimator"],
    ["api"],
    ["cli", "__main__"],
]
RANK = {package: rank for rank, package in enumerate(package for level in ORDER for package in level)}
NEVER = {"data": {"methods", "encoders", "decoders", "training", "layers", "kernels"}, "results": {"kernels", "config"}}
# Two ways up, both when a function is called: a recipe's section finds its parts, a model saves itself.
UP = {
    "registry": {name.split(".")[1] for name in registry.PART_MODULES.values()},
    "methods": {"pretrained"},
}
# Modules imported under a name that is computed: who does so, and what the names can be.
COMPUTED = {
    "registry.py": UP["registry"],
    "api/__init__.py": {"api", *(name[2:] for name in api._MODULES.values() if name.startswith(".."))},
    "cli/main.py": {"cli"},
    "kernels/__init__.py": {"kernels"},
    "data/__init__.py": {"data"},
    "data/molecules/__init__.py": {"data"},
    "data/tables/__init__.py": {"data"},
    "evaluation/__init__.py": {"evaluation"},
    "pretrained/__init__.py": {"pretrained"},
}


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def packages_imported(path: Path) -> set[str]:
    """By `from` and `import`, at the top and inside of functions, and by `importlib`."""
    package, found = ["graphmae", *path.relative_to(SOURCE).parts[:-1]], set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[list[str]] = []
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            names = [[*base, *(node.module or "").split("."), alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0]
            if isinstance(first, ast.Constant):
                names = [str(first.value).split(".")]
            else:
                found |= COMPUTED[path.relative_to(SOURCE).as_posix()]
        parts = [[part for part in name if part] for name in names]
        found |= {name[1] for name in parts if name[0] == "graphmae" and len(name) > 1}
    return found


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    package = package_of(path)
    for other in packages_imported(path) - {package}:
        allowed = RANK[other] < RANK[package] or other in UP.get(package, set())
        assert allowed, f"{package} must not import {other}"
        assert other not in NEVER.get(package, set())


def test_every_package_is_known() -> None:
    assert {package_of(p) for p in FILES} - {"recipes"} == set(RANK)


def test_names_say_something() -> None:
    for path in FILES:
        assert path.stem not in {"utils", "helpers", "common", "misc"}


def test_no_kind_of_data_is_asked_for_outside_of_data() -> None:
    """A data set says itself how it is batched, embedded and evaluated."""
    kinds = {"NodeDataset", "GraphSet", "MoleculeStore", "Assay", "TableGraph"}
    for path in FILES:
        if package_of(path) == "data":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                assert not asked & kinds, f"{path.relative_to(SOURCE)}, line {node.lineno}"


def test_no_part_is_known_by_its_module() -> None:
    for path in FILES:
        # The registry names a module in an error; a data frame is known without importing pandas.
        if path.name not in ("registry.py", "reading.py"):
            assert "__module__" not in path.read_text(), path
