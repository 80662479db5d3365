from __future__ import annotations

import random

import numpy as np
import torch

from graphmae.runtime.seed import preserved_randomness, random_state, restore_random_state, seed_everything


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
