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
    ours = {name for name in registry.names() if registry.get(name).__module__.startswith("graphmae.")}
    assert static.part_names(section) == ours  # other tests register parts of their own
    assert static.part_options(section) >= {key for name in ours for key in registry.options(name)}


def test_every_recipe_passes() -> None:
    for name in config.names():
        config.check_early(name)


def test_a_value_is_not_compared_with_what_a_recipe_may_change() -> None:
    config.check_early("", ["train.warmup=600"])  # fine with train.epochs=1000
    with pytest.raises(ConfigError, match="warmup must be below"):
        config.check_early("", ["train.warmup=600", "train.epochs=500"])
    config.check_early("", ["encoder.depth=3"], own_parts=True)
    with pytest.raises(ConfigError, match="unknown encoder option 'depth'"):
        config.check_early("", ["encoder.depth=3"])
