from __future__ import annotations

import threading
import time

import pytest
import torch

from graphmae.runtime.device import numerics
from graphmae.runtime.errors import Interrupted
from graphmae.runtime.seed import preserved_randomness
from graphmae.runtime.turns import interrupted_by, pass_turn, side_by_side, unattended

CPU = torch.device("cpu")


def drawing(seed: int) -> list[float]:
    with preserved_randomness(seed):
        out = []
        for _ in range(30):
            out.append(float(torch.rand(1)))
            pass_turn()
        with unattended():
            time.sleep(0.01)
        return [*out, float(torch.rand(1))]


def test_each_draws_what_it_would_draw_alone() -> None:
    state = torch.random.get_rng_state()
    together = dict(side_by_side([lambda seed=seed: drawing(seed) for seed in range(7)], CPU, width=3))
    assert together == {seed: drawing(seed) for seed in range(7)}
    assert torch.equal(torch.random.get_rng_state(), state)


def test_only_one_runs_at_a_time_and_no_more_than_wanted_are_begun() -> None:
    running, begun, most, most_begun = 0, 0, 0, 0

    def work() -> None:
        nonlocal running, begun, most, most_begun
        begun += 1
        most_begun = max(most_begun, begun)
        for _ in range(20):
            running += 1
            most = max(most, running)
            time.sleep(0.0005)
            running -= 1
            pass_turn()
        begun -= 1

    list(side_by_side([work] * 6, CPU, width=3))
    assert (most, most_begun) == (1, 3)


def test_precision_stays_with_the_function_that_set_it() -> None:
    def strict() -> list[str]:
        with numerics(torch.device("cpu"), "float32"):
            seen = []
            for _ in range(10):
                seen.append(torch.get_float32_matmul_precision())
                pass_turn()
        return seen

    def loose() -> list[str]:
        with numerics(torch.device("cpu"), "tf32"):
            seen = []
            for _ in range(10):
                seen.append(torch.get_float32_matmul_precision())
                pass_turn()
        return seen

    before = torch.get_float32_matmul_precision()
    found = dict(side_by_side([strict, loose], CPU, width=2))
    assert set(found[0]) == {"highest"} and set(found[1]) == {"high"}
    assert torch.get_float32_matmul_precision() == before


def test_others_go_on_while_one_is_unattended() -> None:
    at_work = threading.Event()

    def waiting() -> bool:
        with unattended():
            return at_work.wait(timeout=20)

    def working() -> bool:
        at_work.set()
        return True

    assert dict(side_by_side([waiting, working], CPU, width=2)) == {0: True, 1: True}


def test_waiting_for_the_last_ones_costs_nothing() -> None:
    def sleeping() -> None:
        with unattended():
            time.sleep(1.0)

    before = time.process_time()
    list(side_by_side([sleeping, sleeping], CPU, width=4))
    assert time.process_time() - before < 0.5


def test_the_first_error_ends_all() -> None:
    rounds = 0

    def endless() -> None:
        nonlocal rounds
        while rounds < 10**6:
            rounds += 1
            pass_turn()

    def failing() -> None:
        pass_turn()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(side_by_side([endless, failing, endless], CPU, width=2))
    assert rounds < 10**6


def test_one_that_stops_when_asked_lets_the_others_stop_by_themselves() -> None:
    saved = []

    def stopping(name: str, rounds: int) -> None:
        for _ in range(rounds):
            pass_turn()
        saved.append(name)
        raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        list(side_by_side([lambda: stopping("a", 1), lambda: stopping("b", 30)], CPU, width=2))
    assert sorted(saved) == ["a", "b"]


def test_a_turn_that_cannot_be_taken_is_an_error_not_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object) -> None:
        raise RuntimeError("no generator")

    monkeypatch.setattr("graphmae.runtime.turns._Member._exchange", broken)
    with pytest.raises(RuntimeError, match="no generator"):
        list(side_by_side([lambda: None, lambda: None], CPU, width=2))


def test_outside_nothing_happens() -> None:
    pass_turn()
    with unattended():
        pass
    assert not interrupted_by()
