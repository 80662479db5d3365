"""What is read from the source of parts is what they register."""

from __future__ import annotations

import pytest

from graphmae import config
from graphmae.config import static
from graphmae.registry import PART_MODULES, find_registry
from graphmae.runtime.errors import ConfigError


@pytest.mark.parametrize("section", sorted(PART_MODULES))
def test_the_source_names_all_parts_and_options(section: str) -> None:
    registry = find_registry(section)
    assert static.part_names(section) == set(registry.names())
    assert static.part_options(section) >= {key for name in registry.names() for key in registry.options(name)}


def test_settings_of_every_recipe_pass_as_overrides() -> None:
    for name in config.names():
        values = config.load(name).to_dict()
        skipped = ("id", "about", "published")
        config.check_overrides(
            f"{section}.{key}={_toml(value)}"
            for section, keys in values.items()
            if section not in skipped and isinstance(keys, dict)
            for key, value in keys.items()
            if value is not None
        )


def test_a_value_is_not_compared_with_what_a_recipe_may_change() -> None:
    config.check_overrides(["train.warmup=600"])  # fine with train.epochs=1000
    with pytest.raises(ConfigError, match="warmup must be below"):
        config.check_overrides(["train.warmup=600", "train.epochs=500"])
    config.check_overrides(["encoder.depth=3"], own_parts=True)
    with pytest.raises(ConfigError, match="unknown encoder option 'depth'"):
        config.check_overrides(["encoder.depth=3"])


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
