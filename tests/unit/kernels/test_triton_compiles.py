"""Every Triton kernel compiles for a Hopper device, without one: the interpreter accepts more than the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import importlib
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

NUMBERS = dict.fromkeys(("heads", "channels", "x_heads", "real", "count", "size", "middle", "num_nodes", "num_edges",
                         "width", "sum_width"), "i32")
NUMBERS |= dict.fromkeys(("p", "scale", "eps", "least", "decay", "beta1", "beta2", "momentum"), "fp32")
FLOATS = {"x", "weight", "out", "alpha", "grad", "dots", "score", "vectors", "gx", "gscore", "sums", "bias", "shift",
          "moments", "totals", "a", "b", "z", "cosine", "lengths", "param", "mean", "square", "lr", "step", "own",
          "table", "base", "running_mean", "running_var", "logs"}
LONG = {"ids", "node_ptr", "edge_ptr", "node_start", "edge_start", "sizes", "batch", "starts"}
NARROW = {"codes": "*i8", "edge_sums": "*u8", "in_start": "*i8", "out_start": "*i8", "sender": "*i8",
          "receiver": "*i8", "back": "*i16"}


def compile_for_hopper(kernel, constants, rows="*i32", slope="fp32"):
    signature = {}
    for name in kernel.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name == "rows":
            signature[name] = rows
        elif name == "slope":
            signature[name] = slope
        elif name == "seed":
            signature[name] = "*i64"
        elif name in LONG:
            signature[name] = "*i64"
        elif name in NARROW and kernel.__name__ == "_fill":
            signature[name] = NARROW[name]
        elif name == "sums" and kernel.__name__ == "_fill":
            signature[name] = "*fp32"
        elif name == "piece_lone":
            signature[name] = "*i1"
        else:
            signature[name] = NUMBERS.get(name, "*fp32" if name in FLOATS else "*i32")
    triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})


attend, aggregate, norm, finish, cosine, dropped_rows, part, adam, tools, column_sums, batches = (
    importlib.import_module(f"graphmae.kernels.cuda.{name}")
    for name in (
        "attend", "aggregate", "norm", "finish", "cosine", "dropped_rows", "part", "adam", "tools", "column_sums",
        "batches",
    )
)
for some, pieces, indirect in ((False, True, False), (True, True, True), (True, False, True)):
    side = {"all_rows": not some, "all_ends": not some, "pieces": pieces, "indirect": indirect, "drop": some,
            "tile": 4, "block": 256}
    light = {k: v for k, v in side.items() if k not in ("drop", "block")} | {"padded": 4}
    compile_for_hopper(aggregate._gather, {**side, "weighted": some, "biased": some, "based": some})
    compile_for_hopper(attend._cols_backward, {**side, "shared": some, "num_heads": 4, "whole": not some})
    compile_for_hopper(attend._rows_backward, light)
    compile_for_hopper(attend._scores_backward, {**light, "shared": some, "block": 256})
    whole = {"all_rows": not some, "all_ends": not some, "tile": 32, "padded": 4}
    compile_for_hopper(attend._weights, {**whole, "weighted": some})
compile_for_hopper(aggregate._own, {"features": 12, "padded": 16, "height": 64, "width": 64}, rows="i32")
compile_for_hopper(aggregate._edge_dots, {"block": 128})
compile_for_hopper(attend._scores, {"block": 128})
for kernel in (norm._moments, norm._apply, norm._gradient_sums, norm._gradient):
    constants = {"chunks": 64, "height": 32, "width": 64} | ({"tracked": True} if kernel is norm._apply else {})
    compile_for_hopper(kernel, constants, rows="i32", slope="*fp32")
for some in (False, True):
    constants = {"block": 1024, "shifted": some, "drop": some}
    compile_for_hopper(finish._forward, constants, rows="i32", slope="*fp32")
    compile_for_hopper(finish._backward, constants, rows="i32", slope="*fp32")
    tiles = {"height": 32, "width": 64, "shifted": some, "drop": some}
    compile_for_hopper(finish._tiled_forward, tiles, rows="i32", slope="*fp32")
    tiles = {"height": 32, "width": 64, "steps": 4, "sloped": some, "shifted": some, "drop": some}
    compile_for_hopper(finish._tiled_backward, tiles, rows="i32", slope="*fp32")
    compile_for_hopper(dropped_rows._dropped_rows, {"block": 1024, "drop": some}, rows="*i64")
    tiles = {"height": 64, "width": 64, "step": 16}
    compile_for_hopper(column_sums._column_sums, {**tiles, "both": some})
    compile_for_hopper(tools._clear, {"block": 1024, "all_rows": some})
betas = {"beta1": 0.9, "beta2": 0.999, "log1": -0.1, "log2": -0.001}
compile_for_hopper(adam._adam, {**betas, "block": 1024})
compile_for_hopper(part._part, {"block": 32, "low_bits": 6, "high_bits": 6})
compile_for_hopper(cosine._forward, {"block": 1024}, rows="i32")
compile_for_hopper(cosine._backward, {"block": 1024}, rows="i32")
compile_for_hopper(batches._starts, {"block": 256})
tiles = {"high": 32, "wide": 128, "sum_wide": 16}
compile_for_hopper(batches._fill, {**tiles, "columns": 2, "summed": True})
compile_for_hopper(batches._fill, {**tiles, "columns": 1, "summed": False})
compile_for_hopper(batches._chosen, {"block": 64, "tile": 16})
print("compiled")
"""


def test_the_kernels_compile_for_a_device(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}  # the home may be read-only
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300, env=env)
    assert done.stdout.strip() == "compiled", done.stderr
