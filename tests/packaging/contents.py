"""What `make dist` built holds what a user needs and nothing else: run as `contents.py FOLDER`, a plain script."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

NEEDED = (
    "graphmae/__init__.py",
    "graphmae/py.typed",
    "graphmae/recipes/node/cora.toml",
    "graphmae/checkpoints/molecule-zinc/model.safetensors",
)
IN_SDIST = (
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "CHANGELOG.md",
    "pyproject.toml",
    "Makefile",
    "docs/index.md",
    "tests/conftest.py",
)
NEVER = ("__pycache__", ".pyc", ".data/", "runs/", ".venv/", "build/")


def main(folder: Path) -> int:
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        inside = file.namelist()
        (metadata,) = (name for name in inside if name.endswith(".dist-info/METADATA"))
        facts = Parser().parsestr(file.read(metadata).decode())
    with tarfile.open(sdist) as archive:
        packed = [name.split("/", 1)[1] for name in archive.getnames() if "/" in name]
    source: dict[str, str] = {}
    exec((Path(__file__).parents[2] / "src/graphmae/runtime/version.py").read_text(), source)
    problems = [f"the wheel has no {name}" for name in NEEDED if name not in inside]
    problems += [f"the sdist has no {name}" for name in IN_SDIST if name not in packed]
    problems += [f"{name} should not be packed" for name in [*inside, *packed] if any(one in name for one in NEVER)]
    problems += [f"{name} is outside of the package" for name in inside if not name.startswith("graphmae")]
    if facts["Version"] != source["__version__"]:
        problems.append(f"the wheel says version {facts['Version']}, the source {source['__version__']}")
    problems += [f"the metadata has no {key}" for key in ("Summary", "Requires-Python", "License") if not facts[key]]
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    sys.stdout.write(f"{wheel.name}: {len(inside)} files; {sdist.name}: {len(packed)} files\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
