from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from graphmae.runtime.errors import InputError
from graphmae.runtime.seed import check_seeds, preserved_randomness, random_state, restore_random_state, seed_everything


def draw() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def test_seed_everything_reaches_all_three_generators() -> None:
    seed_everything(3)
    first = draw()
    seed_everything(3)
    assert draw() == first


def test_a_block_with_its_own_randomness_leaves_no_trace() -> None:
    seed_everything(0)
    expected = draw()
    seed_everything(0)
    with preserved_randomness(seed=9):
        inside = draw()
    assert draw() == expected
    assert inside != expected


def test_state_round_trip() -> None:
    seed_everything(1)
    state = random_state()
    expected = draw()
    draw()
    restore_random_state(*state)
    assert draw() == expected


@pytest.mark.parametrize("wrong", [3, "0-3", [0.5], [True], [], [1, 1], [-1], [2**32]])
def test_seeds_that_are_none_are_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="seeds must"):
        check_seeds(wrong)  # type: ignore[arg-type]


def test_any_whole_numbers_are_seeds() -> None:
    assert check_seeds(np.arange(3)) == check_seeds(range(3)) == [0, 1, 2]
