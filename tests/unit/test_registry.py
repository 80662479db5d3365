from __future__ import annotations

import pytest

from graphmae.registry import Registry, arguments_of, find_registry
from graphmae.runtime.errors import ConfigError


@pytest.fixture
def parts() -> Registry[object]:
    registry: Registry[object] = Registry("example", supplied=["in_channels"])

    @registry.register("part")
    class Part:
        """A part.

        More about it.
        """

        def __init__(self, in_channels: int, depth: int = 2, kind: str = "a") -> None:
            self.depth = depth

    return registry


def test_build_passes_options_and_remembers_all_arguments(parts: Registry[object]) -> None:
    made = parts.build("part", in_channels=3, depth=5)
    assert arguments_of(made) == ("part", {"in_channels": 3, "depth": 5, "kind": "a"})


def test_unknown_option_is_refused_with_a_suggestion(parts: Registry[object]) -> None:
    with pytest.raises(ConfigError, match="'dept'; did you mean 'depth'"):
        parts.build("part", in_channels=3, dept=5)


def test_unknown_name_is_refused_with_a_suggestion(parts: Registry[object]) -> None:
    with pytest.raises(ConfigError, match="unknown example 'prat'; did you mean 'part'"):
        parts.get("prat")


def test_wrong_type_is_a_problem(parts: Registry[object]) -> None:
    assert parts.problems("part", {"depth": "deep"}) == ["example.depth must be a whole number, not 'deep'"]
    assert parts.problems("part", {"depth": True})


def test_a_clash_raises_and_the_same_definition_again_does_not(parts: Registry[object]) -> None:
    with pytest.raises(ConfigError, match="already registered"):
        parts.register("part")(type("Other", (), {"__init__": lambda self: None}))
    parts.register("part")(parts.get("part"))


def test_names_must_be_kebab_case(parts: Registry[object]) -> None:
    with pytest.raises(ConfigError, match="kebab-case"):
        parts.register("My_Part")


def test_a_subclass_that_is_not_registered_cannot_be_stored(parts: Registry[object]) -> None:
    child = type("Child", (parts.get("part"),), {})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="not registered"):
        arguments_of(child(3))


def test_recipe_sections_find_their_registry() -> None:
    assert {"gat", "gcn", "gin"} <= set(find_registry("encoder").names())
    assert find_registry("loss").names() == ["cross-entropy", "mse", "scaled-cosine"]
