"""The nearest of many molecules by Tanimoto similarity of their fingerprints, exact, by lists of who has which bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.compiled import compiled


@dataclass(frozen=True)
class TanimotoIndex:
    """M molecules to compare with.

    Attributes:
        begins, members: the molecules that have bit b are members[begins[b]:begins[b + 1]].
        sizes: [M] how many bits each has.

    >>> import numpy as np
    >>> index = TanimotoIndex.of(np.array([[1, 1, 0], [0, 2, 1]]))
    >>> index.nearest(np.array([[0, 1, 1]]))
    (array([1]), array([1.], dtype=float32))
    """

    begins: np.ndarray
    members: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray) -> TanimotoIndex:
        """From [M, bits] counts or zeros and ones."""
        bit, molecule = np.nonzero(counts.T)
        begins = np.searchsorted(bit, np.arange(counts.shape[1] + 1))
        return cls(
            begins.astype(np.int64), molecule.astype(np.int32), np.count_nonzero(counts, axis=1).astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def nearest(self, counts: np.ndarray, own: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(which molecule is the nearest to each row of `counts` [n, bits], how similar it is).

        `own` [n] are molecules that do not count: each row's own number, where the rows are some of the M.
        """
        return self.search(counts, np.zeros((len(self), 0)), own)[:2]

    def similarities(self, counts: np.ndarray) -> np.ndarray:
        """[n, M] float32."""
        known = np.zeros((len(self), counts.shape[1]), dtype=np.float32)
        known[self.members, np.repeat(np.arange(counts.shape[1]), np.diff(self.begins))] = 1
        asked = (counts != 0).astype(np.float32)
        shared = asked @ known.T  # whole numbers: exact
        either = asked.sum(axis=1)[:, None] + self.sizes - shared
        return np.where(either > 0, shared / np.maximum(either, 1), 1.0).astype(np.float32)

    def is_same(self, other: TanimotoIndex) -> bool:
        """Whether these are the same molecules in the same order."""
        pairs = ((self.sizes, other.sizes), (self.begins, other.begins), (self.members, other.members))
        return self is other or all(np.array_equal(a, b) for a, b in pairs)

    def search(
        self, counts: np.ndarray, weights: np.ndarray, own: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `nearest` gives, and [n, T] the sum over the M molecules of similarity times `weights` [M, T]."""
        row, bit = bits_of(counts)
        starts = np.searchsorted(row, np.arange(len(counts) + 1))
        skipped = np.full(len(counts), -1, dtype=np.int64) if own is None else own.astype(np.int64)
        best, similarity = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.float32)
        sums = np.zeros((len(counts), weights.shape[1]))
        _search(starts, bit, self.begins, self.members, self.sizes, skipped, weights, best, similarity, sums)
        return best, similarity, sums


def bits_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, column) of what is not zero in `counts` [n, bits], row by row: `numpy.nonzero`, several times faster."""
    row, bit = np.divmod(np.flatnonzero(counts.ravel() != 0), counts.shape[1])
    return row, bit


@compiled
def _search(starts, bits, begins, members, sizes, skipped, weights, best, similarity, sums):  # type: ignore[no-untyped-def]
    shared = np.zeros(sizes.shape[0], dtype=np.int32)
    for row in range(starts.shape[0] - 1):
        shared[:] = 0
        own = starts[row + 1] - starts[row]
        for place in range(starts[row], starts[row + 1]):
            bit = bits[place]
            for entry in range(begins[bit], begins[bit + 1]):
                shared[members[entry]] += 1
        highest = -1.0
        for other in range(sizes.shape[0]):
            together = own + sizes[other] - shared[other]
            alike = shared[other] / together if together > 0 else 1.0
            if alike > highest and other != skipped[row]:
                highest = alike
                best[row] = other
            if shared[other] > 0:
                for target in range(weights.shape[1]):
                    sums[row, target] += alike * weights[other, target]
        similarity[row] = max(highest, 0.0)
