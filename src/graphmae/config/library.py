"""Where recipes are found: the published ones in the package, or a file of the user's."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ..runtime.errors import ConfigError, unknown
from ..runtime.untrusted import read_limited

MOST_BYTES = 1 << 20  # of a recipe


def _folder() -> Path:
    return Path(str(resources.files("graphmae"))) / "recipes"


def names() -> list[str]:
    """Ids of the recipes in the package: 'node/cora' is recipes/node/cora.toml."""
    folder = _folder()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.toml"))


def read_text(path: Path) -> str:
    """The text of a recipe."""
    try:
        return read_limited(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", str(path)) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(path)) from None


def find(source: str | Path) -> tuple[Path, str]:
    """The file of an id or a path, and the name to report it under."""
    text = str(source)
    if text in names():
        return _folder() / f"{text}.toml", text
    path = Path(source)
    if path.is_file():
        return path, path.stem
    if path.suffix == ".toml":
        raise ConfigError(f"no recipe file {text!r}")
    raise ConfigError(f"{unknown('recipe', text, names())}; or the path of a .toml file")
