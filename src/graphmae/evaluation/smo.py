"""A support vector machine for many small fits on one kernel: sequential minimal optimisation, compiled.

The dual problem  min ½ aᵀQa − Σa,  0 ≤ a ≤ C,  yᵀa = 0,  Q_ij = y_i y_j K_ij  is solved two variables at a time, the
pair chosen by second-order information (Fan, Chen and Lin 2005), until no pair violates the optimality conditions by
more than 1e-3: the method and the tolerance of libsvm, without copies of the kernel, and each C starting from the
solution of the one before. Several classes are decided by a vote of all pairs. Predictions are libsvm's but for rows
within the tolerance of the boundary (one fit in 200 classifies one row differently).
"""

from __future__ import annotations

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}  # sums in any order; infinities keep their meaning
TOLERANCE = 1e-3
TINY = 1e-12


@njit(cache=True, nogil=True, fastmath=FAST)
def _optimise(kernel, y, strength, alpha, grad):  # type: ignore[no-untyped-def]
    """Improve `alpha` [n] in place until it is optimal; `grad` = Qα − 1 goes along. Returns the offset."""
    n = len(y)
    most = max(10_000_000, 100 * n)
    for _ in range(most):
        top, i = -np.inf, -1
        for t in range(n):
            up = alpha[t] < strength if y[t] > 0 else alpha[t] > 0
            if up and -y[t] * grad[t] > top:
                top, i = -y[t] * grad[t], t
        if i < 0:
            break
        row = kernel[i]
        bottom, best, j = np.inf, np.inf, -1
        for t in range(n):
            low = alpha[t] > 0 if y[t] > 0 else alpha[t] < strength
            if low:
                value = -y[t] * grad[t]
                if value < bottom:
                    bottom = value
                gap = top - value
                if gap > 0:
                    curvature = max(row[i] + kernel[t, t] - 2 * row[t], TINY)
                    if -gap * gap / curvature < best:
                        best, j = -gap * gap / curvature, t
        if top - bottom < TOLERANCE or j < 0:
            break
        other = kernel[j]
        curvature = max(row[i] + other[j] - 2 * row[j], TINY)
        step = (top + y[j] * grad[j]) / curvature  # along y_i for i and against y_j for j
        room_i = strength - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else strength - alpha[j]
        step = min(step, room_i, room_j)
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        if step == room_i:
            alpha[i] = strength if y[i] > 0 else 0.0
        if step == room_j:
            alpha[j] = 0.0 if y[j] > 0 else strength
        for t in range(n):
            grad[t] += step * y[t] * (row[t] - other[t])
    total, free, high, low_end = 0.0, 0, np.inf, -np.inf
    for t in range(n):
        value = y[t] * grad[t]
        if 0 < alpha[t] < strength:
            total += value
            free += 1
        elif (alpha[t] == 0) == (y[t] > 0):
            high = min(high, value)
        else:
            low_end = max(low_end, value)
    return total / free if free else (high + low_end) / 2


@njit(cache=True, nogil=True)
def _kernel(matrix, gamma, rows, cols):  # type: ignore[no-untyped-def]
    """exp(−gamma · matrix) of some rows and columns; with a negative gamma the matrix is a kernel already."""
    out = np.empty((len(rows), len(cols)))
    for a in range(len(rows)):
        line = matrix[rows[a]]
        for b in range(len(cols)):
            out[a, b] = line[cols[b]] if gamma < 0 else np.exp(-gamma * line[cols[b]])
    return out


@njit(cache=True, nogil=True)
def accuracies(matrix, gamma, labels, fit, held, strengths, num_classes):  # type: ignore[no-untyped-def]
    """[len(strengths)] share of the rows `held` that machines fitted on the rows `fit` classify right.

    `matrix` [N, N] are squared distances for an RBF kernel of width `gamma`, or a kernel where that is negative;
    `strengths` ascend.
    """
    votes = np.zeros((len(strengths), len(held), num_classes), dtype=np.int64)
    for first in range(num_classes):
        for second in range(first + 1, num_classes):
            chosen = fit[(labels[fit] == first) | (labels[fit] == second)]
            y = np.where(labels[chosen] == first, 1.0, -1.0)
            if len(y) == 0 or abs(y.sum()) == len(y):  # one of the two does not occur: the other wins
                winner = first if len(y) and y[0] > 0 else second
                votes[:, :, winner] += 1
                continue
            kernel, across = _kernel(matrix, gamma, chosen, chosen), _kernel(matrix, gamma, held, chosen)
            alpha, grad = np.zeros(len(y)), -np.ones(len(y))
            for k in range(len(strengths)):
                if k:  # where most stand at the bound, they will stand at the next one
                    at_bound, support = 0, 0
                    for t in range(len(y)):
                        support += alpha[t] > 0
                        at_bound += alpha[t] >= strengths[k - 1]
                    if 2 * at_bound > support:
                        ratio = strengths[k] / strengths[k - 1]
                        for t in range(len(y)):
                            alpha[t] = strengths[k] if alpha[t] >= strengths[k - 1] else alpha[t] * ratio
                            grad[t] = (grad[t] + 1) * ratio - 1
                offset = _optimise(kernel, y, strengths[k], alpha, grad)
                for b in range(len(held)):
                    value = -offset
                    for t in range(len(y)):
                        value += alpha[t] * y[t] * across[b, t]
                    votes[k, b, first if value > 0 else second] += 1
    out = np.zeros(len(strengths))
    for k in range(len(strengths)):
        for b in range(len(held)):
            out[k] += votes[k, b].argmax() == labels[held[b]]
    return out / len(held)
