"""Loops of the neighbour sampler: compiled, without Python's lock, drawing from (seed, hop, node) and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.compiled import compiled

MIX = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BELOW = 1.0 / 9007199254740992.0  # 2⁻⁵³


@compiled
def mixed(z: Any) -> Any:
    """SplitMix64: every bit depends on every other."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@compiled
def drawn(key: Any, k: Any, below: Any) -> Any:
    """A number from 0 to `below` − 1 that depends on (key, k) alone."""
    return np.int64(np.float64(mixed(key + np.uint64(k) * MIX) >> np.uint64(11)) * BELOW * below)


@compiled
def counted(indptr: Any, nodes: Any, num_edges: Any, fanout: Any, counts: Any) -> Any:
    """counts[i]: how many senders of nodes[i] are taken; returns their sum, −1 where indptr is damaged."""
    total = 0
    for i in range(nodes.shape[0]):
        begin, end = indptr[nodes[i]], indptr[nodes[i] + 1]
        if begin < 0 or end < begin or end > num_edges:
            return -1
        degree = end - begin
        counts[i] = degree if fanout < 0 or degree < fanout else fanout
        total += counts[i]
    return total


@compiled
def chosen(indptr: Any, indices: Any, nodes: Any, counts: Any, seed: Any, hop: Any, limit: Any, out: Any) -> Any:
    """The senders, without replacement (Floyd's rule, then in the order of the row); −1 where indices is damaged."""
    at = 0
    for i in range(nodes.shape[0]):
        node, count = nodes[i], counts[i]
        begin = indptr[node]
        degree = indptr[node + 1] - begin
        if count == degree:
            for k in range(count):
                out[at + k] = indices[begin + k]
        else:
            key = mixed(mixed(seed + np.uint64(hop) * FIRST) ^ (np.uint64(node) * MIX))
            for k in range(count):
                last = degree - count + k
                place = drawn(key, k, last + 1)
                for other in range(k):
                    if out[at + other] == place:
                        place = last
                        break
                out[at + k] = place
            for k in range(count):
                out[at + k] = indices[begin + out[at + k]]
        for k in range(count):
            if out[at + k] < 0 or out[at + k] >= limit:
                return -1
        at += count
    return at


@compiled
def numbered(senders: Any, nodes: Any, known: Any, slots: Any, mask: Any) -> Any:
    """Number the senders: those that are known keep theirs, the others get the next ones, in the order they come.

    `nodes` has the first `known` ones, and room; `slots` is a table of their numbers. `senders` becomes numbers.
    """
    for i in range(senders.shape[0]):
        node = senders[i]
        at = np.int64(mixed(np.uint64(node)) & mask)
        while slots[at] >= 0 and nodes[slots[at]] != node:
            at = (at + 1) & np.int64(mask)
        if slots[at] < 0:
            slots[at] = known
            nodes[known] = node
            known += 1
        senders[i] = slots[at]
    return known


@compiled
def joined(
    counts: Any, senders: Any, degrees: Any, first: Any, at: Any, loops: Any, crow: Any, row: Any, col: Any, share: Any
) -> Any:
    """Rows from `first` on: the self-loop, then the senders; returns where the next edge goes.

    `share`: for how many edges of the whole graph each of these stands.
    """
    k = 0
    for i in range(counts.shape[0]):
        if loops:
            row[at] = col[at] = first + i
            share[at] = 1.0
            at += 1
        for _ in range(counts[i]):
            row[at], col[at] = first + i, senders[k]
            share[at] = degrees[first + i] / counts[i]
            at += 1
            k += 1
        crow[first + i + 1] = at
    return at


@compiled
def degrees_of(indptr: Any, nodes: Any, out: Any) -> None:
    for i in range(nodes.shape[0]):
        out[i] = indptr[nodes[i] + 1] - indptr[nodes[i]]


@compiled
def breadth_first(indptr: Any, indices: Any, order: Any, seen: Any) -> Any:
    """Every node once, neighbours close to each other; −1 where the graph is damaged."""
    filled, nodes = 0, order.shape[0]
    for start in range(nodes):
        if seen[start]:
            continue
        seen[start] = True
        order[filled] = start
        at, filled = filled, filled + 1
        while at < filled:
            begin, end = indptr[order[at]], indptr[order[at] + 1]
            at += 1
            if begin < 0 or end < begin or end > indices.shape[0]:
                return -1
            for k in range(begin, end):
                j = indices[k]
                if j < 0 or j >= nodes:
                    return -1
                if not seen[j]:
                    seen[j] = True
                    order[filled] = j
                    filled += 1
    return filled


@compiled
def transposed(col: Any, num_cols: Any, begins: Any, order: Any) -> None:
    """The edges by sender: where those of each begin, and their positions."""
    for e in range(col.shape[0]):
        begins[col[e] + 1] += 1
    for c in range(num_cols):
        begins[c + 1] += begins[c]
    for e in range(col.shape[0]):
        order[begins[col[e]]] = e
        begins[col[e]] += 1
    for c in range(num_cols, 0, -1):
        begins[c] = begins[c - 1]
    begins[0] = 0


@compiled
def among(indptr: Any, indices: Any, nodes: Any, place: Any, loops: Any, crow: Any, row: Any, col: Any) -> Any:
    """The edges between `nodes`, whose positions are in `place` (−1: none); returns how many, −1 where damaged.

    With `col` empty they are counted into `crow` alone.
    """
    at = 0
    for i in range(nodes.shape[0]):
        crow[i] = at
        if loops:
            if col.shape[0] > 0:
                row[at] = col[at] = i
            at += 1
        begin, end = indptr[nodes[i]], indptr[nodes[i] + 1]
        if begin < 0 or end < begin or end > indices.shape[0]:
            return -1
        for k in range(begin, end):
            if indices[k] < 0 or indices[k] >= place.shape[0]:
                return -1
            j = place[indices[k]]
            if j >= 0:
                if col.shape[0] > 0:
                    row[at], col[at] = i, j
                at += 1
    crow[nodes.shape[0]] = at
    return at


@compiled
def shuffled(begin: Any, end: Any, size: Any, seed: Any, out: Any) -> None:
    """Places `begin` to `end` of a permutation of 0 … `size` − 1 that follows from `seed`, without writing it out.

    Four rounds of a Feistel network over the next even power of two, walked on until a number below `size` comes.
    """
    half = 1
    while (1 << (2 * half)) < size:
        half += 1
    low = np.uint64((1 << half) - 1)
    for i in range(begin, end):
        value = np.uint64(i)
        while True:
            left, right = value >> np.uint64(half), value & low
            for turn in range(4):
                left, right = right, left ^ (mixed(seed + (right + np.uint64(turn << 40)) * MIX) & low)
            value = (left << np.uint64(half)) | right
            if value < np.uint64(size):
                break
        out[i - begin] = np.int64(value)
