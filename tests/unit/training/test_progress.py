from __future__ import annotations

import pytest

from graphmae.training import Progress


def test_plain_lines_when_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    display = Progress(seconds_between_lines=1000)
    display.start("cora", 3, 0)
    for epoch in (1, 2, 3):
        display.update(epoch, 0.5, 1e-3)
    display.stop()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "cora: epoch 3/3  loss 0.5000  lr 1.0e-03" in err
    assert "left" in err


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Progress() as display:
        display.start("cora", 3, 1)
        display.update(2, 0.5, 1e-3)
        assert display._bar is not None
        assert display._bar.bar.tasks[0].completed == 2
