"""Imports point one way; results know no torch; no drawer is called utils."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/graphmae"
# Every room may import from itself and from rooms listed before it.
ORDER = [
    ["runtime"],
    ["registry"],
    ["results"],
    ["report"],
    ["kernels"],
    ["layers"],
    ["config", "data"],
    ["masking", "encoders", "decoders", "losses"],
    ["model", "predictor"],
    ["training"],
    ["embedding", "reconstruction"],
    ["pretrained", "evaluation", "testing", "imputation"],
    ["transfer", "defaults", "pretraining"],
    ["experiment"],
    ["reproduction"],
    ["chemistry"],
    ["estimator", "tuning"],
    ["api"],
    ["insights"],
    ["commands"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
NEVER = {"data": {"model", "encoders", "decoders", "training", "layers", "kernels"}, "results": {"kernels", "config"}}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def rooms_imported(path: Path) -> set[str]:
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
    room = room_of(path)
    for other in rooms_imported(path) - {room}:
        allowed = LEVEL[other] < LEVEL[room] or (room, other) == ("model", "pretrained")
        assert allowed, f"{room} must not import {other}"
        assert other not in NEVER.get(room, set())


def test_every_room_is_known() -> None:
    assert {room_of(p) for p in FILES} - {"recipes"} == set(LEVEL)


def test_names_say_something_and_files_stay_short() -> None:
    for path in FILES:
        assert path.stem not in {"utils", "helpers", "common", "misc"}
        assert len(path.read_text().splitlines()) <= 350, path
