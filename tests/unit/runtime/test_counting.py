"""Progress of a loop: nothing when it is short, lines on stderr when it is long."""

from __future__ import annotations

import pytest

from graphmae.runtime import counting


def test_a_long_loop_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(counting.time, "monotonic", lambda: next(clock))
    assert list(counting.counted(range(10), "columns filled")) == list(range(10))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3 and lines[-1].startswith("columns filled: ") and "of 10, about" in lines[0]


def test_a_short_loop_and_a_quiet_one_say_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(counting.counted([1, 2], "columns")) == [1, 2]
    monkeypatch.setattr(counting, "PATIENCE", -1.0)
    monkeypatch.setattr(counting, "SECONDS", -1.0)
    assert list(counting.counted([1, 2], "columns", shown=False)) == [1, 2]
    assert capsys.readouterr().err == ""
