"""The Triton kernels in Triton's interpreter, against the float64 reference; tests/gpu does it on a real device."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import torch
from graphmae import kernels
from graphmae.kernels import cuda, reference

torch.manual_seed(0)
cases = [(7, 20, 2, False, 5), (5, 0, 1, False, 3), (6, 30, 3, True, 33), (1, 2, 1, False, 1)]
for nodes, edges, heads, shared, channels in cases:
    adj = kernels.adjacency(torch.randint(nodes, (2, edges)), nodes)
    x = torch.randn(nodes, 1 if shared else heads, channels, dtype=torch.float64, requires_grad=True)
    grad = torch.randn(nodes, heads, channels, dtype=torch.float64)
    for weight in (torch.randn(edges, heads, dtype=torch.float64, requires_grad=True), None):
        if weight is None and shared:
            continue
        inputs = (x,) if weight is None else (x, weight)
        outs = [module.aggregate(adj, x, weight) for module in (cuda, reference)]
        results = [(out, *torch.autograd.grad(out, inputs, grad)) for out in outs]
        for a, b in zip(*results, strict=True):
            assert torch.allclose(a, b, atol=1e-12)
print("agree")
"""


def test_aggregate_in_the_interpreter() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={"TRITON_INTERPRET": "1", "PATH": ""},
        timeout=120,
    )
    assert done.stdout.strip() == "agree", done.stderr
