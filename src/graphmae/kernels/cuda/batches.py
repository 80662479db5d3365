"""A batch of small graphs in two launches: where each begins, then everything of them, filled up to fixed shapes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..packed import Packed, Taken
from .tools import draw, fresh_seed

MAX_GRAPHS = 4096  # graphs a batch, which one program counts
PADS = 8  # programs that fill up
HIGH, WIDE = 32, 128  # nodes or edges, and features, that a program holds at a time
LARGEST = 512  # nodes of a graph in which every node compares itself with every other


@triton.jit
def _starts(ids, node_ptr, edge_ptr, node_start, edge_start, sizes, valid, count, block: tl.constexpr):
    b = tl.arange(0, block)
    inside = b < count
    g = tl.load(ids + b, mask=inside, other=0)
    nodes = tl.load(node_ptr + g + 1, mask=inside, other=0) - tl.load(node_ptr + g, mask=inside, other=0)
    edges = tl.load(edge_ptr + g + 1, mask=inside, other=0) - tl.load(edge_ptr + g, mask=inside, other=0)
    tl.store(node_start + b, tl.cumsum(nodes, 0) - nodes, mask=inside)
    tl.store(edge_start + b, tl.cumsum(edges, 0) - edges, mask=inside)
    tl.store(sizes + b, nodes, mask=inside)
    total = tl.sum(nodes, 0)
    tl.store(node_start + count, total)
    tl.store(edge_start + count, tl.sum(edges, 0))
    tl.store(valid, total.to(tl.int32))


@triton.jit
def _features(
    codes, offsets, x, place, node, inside, width, columns: tl.constexpr, high: tl.constexpr, wide: tl.constexpr
):
    """One-hot rows at `place`: those of `node`, or zeros where that is below 0."""
    real = inside & (node >= 0)
    for start in range(0, width, wide):
        c = start + tl.arange(0, wide)
        hit = tl.zeros((high, wide), dtype=tl.float32)
        for k in tl.static_range(columns):
            code = tl.load(codes + node * columns + k, mask=real, other=-1).to(tl.int32)
            at = tl.where(real & (code >= 0), code + tl.load(offsets + k), -1)
            hit += tl.where(c[None, :] == at[:, None], 1.0, 0.0)
        tl.store(x + place[:, None] * width + c[None, :], hit, mask=inside[:, None] & (c < width)[None, :])


@triton.jit
def _fill_up(
    nodes, edges, share, shares, codes, offsets, batch, x, sums, crow, ccol, row, col, edge,
    count, num_nodes, num_edges, width, sum_width,
    columns: tl.constexpr, summed: tl.constexpr, high: tl.constexpr, wide: tl.constexpr, sum_wide: tl.constexpr,
):  # fmt: skip
    """A share of what follows the last node and edge."""
    s = tl.arange(0, sum_wide)
    for start in range(nodes + share * high, num_nodes + 1, shares * high):
        place = start + tl.arange(0, high)
        tl.store(crow + place, edges, mask=place <= num_nodes)
        tl.store(ccol + place, edges, mask=place <= num_nodes)
        inside = place < num_nodes
        tl.store(batch + place, tl.zeros((high,), dtype=tl.int64) + count, mask=inside)
        wider = place.to(tl.int64)
        _features(codes, offsets, x, wider, wider * 0 - 1, inside, width, columns, high, wide)
        if summed:
            both = inside[:, None] & (s < sum_width)[None, :]
            zeros = tl.zeros((high, sum_wide), dtype=tl.float32)
            tl.store(sums + wider[:, None] * sum_width + s[None, :], zeros, mask=both)
    for start in range(edges + share * high, num_edges, shares * high):
        place = start + tl.arange(0, high)
        inside = place < num_edges
        tl.store(row + place, num_nodes - 1, mask=inside)
        tl.store(col + place, num_nodes - 1, mask=inside)
        tl.store(edge + place, num_edges - 1, mask=inside)


@triton.jit
def _fill(
    ids, node_ptr, edge_ptr, node_start, edge_start, codes, offsets, edge_sums, in_start, out_start,
    sender, receiver, back, batch, x, sums, crow, ccol, row, col, edge,
    count, num_nodes, num_edges, width, sum_width,
    columns: tl.constexpr, summed: tl.constexpr, high: tl.constexpr, wide: tl.constexpr, sum_wide: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    part, parts = tl.program_id(1), tl.num_programs(1)
    s = tl.arange(0, sum_wide)
    if b < count:
        g = tl.load(ids + b)
        first, first_edge = tl.load(node_ptr + g), tl.load(edge_ptr + g)
        nodes = (tl.load(node_ptr + g + 1) - first).to(tl.int32)
        edges = (tl.load(edge_ptr + g + 1) - first_edge).to(tl.int32)
        at, edge_at = tl.load(node_start + b), tl.load(edge_start + b)
        for start in range(part * high, nodes, parts * high):
            i = start + tl.arange(0, high)
            inside = i < nodes
            node, place = first + i, at + i
            tl.store(batch + place, tl.zeros((high,), dtype=tl.int64) + b, mask=inside)
            into = edge_at + tl.load(in_start + node, mask=inside, other=0)
            tl.store(crow + place, into.to(tl.int32), mask=inside)
            out = edge_at + tl.load(out_start + node, mask=inside, other=0)
            tl.store(ccol + place, out.to(tl.int32), mask=inside)
            _features(codes, offsets, x, place, node, inside, width, columns, high, wide)
            if summed:
                both = inside[:, None] & (s < sum_width)[None, :]
                v = tl.load(edge_sums + node[:, None] * sum_width + s[None, :], mask=both, other=0).to(tl.float32)
                tl.store(sums + place[:, None] * sum_width + s[None, :], v, mask=both)
        for start in range(part * high, edges, parts * high):
            i = start + tl.arange(0, high)
            inside = i < edges
            e, place = first_edge + i, edge_at + i
            tl.store(row + place, (at + tl.load(receiver + e, mask=inside, other=0)).to(tl.int32), mask=inside)
            tl.store(col + place, (at + tl.load(sender + e, mask=inside, other=0)).to(tl.int32), mask=inside)
            tl.store(edge + place, (edge_at + tl.load(back + e, mask=inside, other=0)).to(tl.int32), mask=inside)
    else:
        share, shares = (b - count) * parts + part, (tl.num_programs(0) - count) * parts
        _fill_up(
            tl.load(node_start + count).to(tl.int32), tl.load(edge_start + count).to(tl.int32), share, shares,
            codes, offsets, batch, x, sums, crow, ccol, row, col, edge, count, num_nodes, num_edges, width, sum_width,
            columns, summed, high, wide, sum_wide,
        )  # fmt: skip


def take_padded(packed: Packed, ids: Tensor, num_nodes: int, num_edges: int) -> Taken:
    device, count = packed.x.device, len(ids)
    assert packed.widths is not None and count <= MAX_GRAPHS
    node_start, edge_start, sizes, batch = (
        torch.empty(n, dtype=torch.long, device=device) for n in (count + 1, count + 1, count, num_nodes)
    )
    valid = torch.empty((), dtype=torch.int32, device=device)
    crow, ccol = torch.empty(2, num_nodes + 1, dtype=torch.int32, device=device)
    row, col, edge = torch.empty(3, num_edges, dtype=torch.int32, device=device)
    width = sum(packed.widths)
    x = torch.empty(num_nodes, width, device=device)
    sums = None if packed.edge_sums is None else torch.empty(num_nodes, packed.edge_sums.size(1), device=device)
    _starts[(1,)](
        ids, packed.node_ptr, packed.edge_ptr, node_start, edge_start, sizes, valid, count,
        block=triton.next_power_of_2(count),
    )  # fmt: skip
    sum_width = 1 if sums is None else sums.size(1)
    parts = max(1, min(32, num_nodes // (2 * HIGH * max(count, 1))))
    _fill[(count + PADS, parts)](
        ids, packed.node_ptr, packed.edge_ptr, node_start, edge_start, packed.x, packed.offsets,
        x if sums is None else packed.edge_sums, packed.in_start, packed.out_start,
        packed.sender, packed.receiver, packed.back, batch, x, x if sums is None else sums,
        crow, ccol, row, col, edge, count, num_nodes, num_edges, width, sum_width,
        columns=len(packed.widths), summed=sums is not None, high=HIGH, wide=WIDE,
        sum_wide=triton.next_power_of_2(sum_width),
    )  # fmt: skip
    return Taken(x, sums, batch, crow, row, col, ccol, edge, sizes, node_start, valid)


@triton.jit
def _chosen(seed, sizes, starts, counts, out, block: tl.constexpr, tile: tl.constexpr):
    """Of the nodes of a graph, those whose draw is among the lowest few."""
    b = tl.program_id(0)
    nodes, at = tl.load(sizes + b).to(tl.int32), tl.load(starts + b)
    wanted, key = tl.load(counts + nodes), tl.load(seed)
    i = tl.arange(0, block)
    mine = draw(key, at + i)
    rank = tl.zeros((block,), dtype=tl.int32)
    for start in range(0, nodes, tile):
        j = start + tl.arange(0, tile)
        other = draw(key, at + j)
        lower = (other[None, :] < mine[:, None]) | ((other[None, :] == mine[:, None]) & (j[None, :] < i[:, None]))
        rank += tl.sum((lower & (j < nodes)[None, :]).to(tl.int32), axis=1)
    tl.store(out + at + i, (rank < wanted).to(tl.int8), mask=i < nodes)


def chosen_within(sizes: Tensor, starts: Tensor, counts: Tensor, total: int) -> Tensor:
    out = torch.zeros(total, dtype=torch.bool, device=sizes.device)
    block = max(16, triton.next_power_of_2(len(counts) - 1))
    _chosen[(len(sizes),)](
        fresh_seed(1.0, sizes.device), sizes, starts, counts, out.view(torch.int8), block=block, tile=16,
        num_warps=1 if block <= 64 else 4,
    )  # fmt: skip
    return out
