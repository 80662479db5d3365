"""Feature matrices that are mostly zeros (bags of words): the first projection and its dropout on the entries alone.

Exact: the dropout of a zero is a zero. Only on the CPU; on CUDA the dense product is faster than the bookkeeping.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from .. import kernels

DENSITY = 0.1  # fuller matrices stay dense


@dataclass(frozen=True)
class SparseRows:
    """A matrix [num_rows, width], given by its entries, some of whose rows may be dense.

    Attributes:
        adj, value: entries in compressed rows, [E] values; row k of `adj` is row `place[k]` of the matrix.
        dense, dense_place: [M, width] rows given whole, and where they belong; None: there are none.
    """

    adj: kernels.Adjacency
    value: Tensor
    place: Tensor | None
    num_rows: int
    dense: Tensor | None = None
    dense_place: Tensor | None = None

    @property
    def width(self) -> int:
        return self.adj.num_cols

    def select(self, rows: Tensor, place: Tensor, token: Tensor, token_place: Tensor) -> SparseRows:
        """Row `place[k]` becomes this matrix's row `rows[k]`; rows at `token_place` all become `token`."""
        adj, entries = self.adj.restrict(rows)
        dense = token.expand(len(token_place), -1)
        return SparseRows(adj, self.value[entries], place, self.num_rows, dense, token_place)

    def dropout(self, p: float, training: bool) -> SparseRows:
        dense = None if self.dense is None else kernels.dropout(self.dense, p, training)
        return replace(self, value=kernels.dropout(self.value, p, training), dense=dense)

    def project(self, weight: Tensor) -> Tensor:
        """This matrix times `weight`ᵀ: [num_rows, out] for `weight` [out, width]."""
        out = kernels.aggregate(self.adj, weight.t().unsqueeze(1), self.value.unsqueeze(1)).squeeze(1)
        if self.place is None:
            return out
        parts, places = [out], [self.place]
        if self.dense is not None and self.dense_place is not None:
            parts.append(self.dense @ weight.t())
            places.append(self.dense_place)
        order = torch.empty_like(torch.cat(places)).scatter_(0, torch.cat(places), torch.arange(self.num_rows))
        return torch.cat(parts).index_select(0, order)


_KEPT: MutableMapping[Tensor, tuple[int, SparseRows | None]] = WeakIdKeyDictionary()


def sparse_rows(x: Tensor) -> SparseRows | None:
    """`x` as entries where that pays, else None. Looked at once: the answer is kept as long as the tensor."""
    if x.is_cuda or x.requires_grad or x.dim() != 2 or x.is_inference():
        return None
    kept = _KEPT.get(x)
    if kept is None or kept[0] != x._version:
        kept = _KEPT[x] = (x._version, _compress(x))
    return kept[1]


def _compress(x: Tensor) -> SparseRows | None:
    if not x.numel() or int(torch.count_nonzero(x)) > DENSITY * x.numel():
        return None
    row, col = x.nonzero(as_tuple=True)
    counts = torch.bincount(row, minlength=x.size(0))
    crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    adj = kernels.Adjacency(crow, row, col, torch.arange(len(row)), x.size(1))
    return SparseRows(adj, x[row, col], None, x.size(0))
