"""Candidates for edges: near each other, not edges, each once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphmae.inference import pairs
from graphmae.inference.pairs import PairEvidence, candidates, joined, pairs_of


def ring(nodes: int) -> np.ndarray:
    return np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])


def test_candidates_are_two_steps_apart_or_near() -> None:
    graph = joined(ring(30), 30)
    z = torch.nn.functional.one_hot(torch.arange(30) % 15).float() * 0.9 + 0.1 * torch.rand(30, 15)
    found = {tuple(pair) for pair in candidates(graph, z).T.tolist()}
    assert {tuple(sorted((i, (i + 2) % 30))) for i in range(30)} <= found  # shared neighbours
    assert {(i, i + 15) for i in range(15)} <= found  # alike
    assert all(a < b and graph[a, b] == 0 for a, b in found)


def test_many_nodes_are_compared_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "CELL", 20)
    monkeypatch.setattr(pairs, "PER_NODE", 4)
    z = torch.nn.functional.one_hot(torch.arange(100) % 10).float()
    graph = joined(ring(100), 100)
    found = candidates(graph, z)
    assert found.shape[1] < 100 * 8
    alike = [(a, b) for a, b in found.T.tolist() if a % 10 == b % 10]
    assert len(alike) > 50


def test_hubs_are_left_out_where_there_are_too_many_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    star = np.stack([np.zeros(50, dtype=int), np.arange(1, 51)])
    graph = joined(np.hstack([star, [[1, 2], [51, 51]]]), 52)
    monkeypatch.setattr(pairs, "MAX_WORK", 100)
    assert set(pairs._two_steps(graph).tolist()) == {0 * 52 + 51, 1 * 52 + 2}  # through 1, 2 and 51, not through 0


def test_evidence_of_a_pair() -> None:
    graph = joined(np.array([[0, 1, 0, 2, 3], [2, 2, 3, 4, 1]]), 6)
    evidence = PairEvidence(graph, torch.eye(6), torch.eye(6), own=lambda ends: ends.sum(0).float())
    rows = evidence(np.array([[0, 4], [1, 5]]))
    assert rows[0, 0] == pytest.approx(np.log1p(2)) and rows[1, 0] == 0  # 0 and 1 share 2 and 3
    assert rows[0, 1] == pytest.approx(np.sqrt(1 / np.log(3) + 1 / np.log(2)))
    assert rows[0, 3] == pytest.approx(2 / 2) and rows[:, -1].tolist() == [1, 9]
    assert pairs_of(0, graph).tolist() == [[0, 0, 0], [1, 4, 5]]
