"""Models of fingerprints that every model of molecules is compared with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier

from graphmae.evaluation import fingerprints


@pytest.mark.parametrize(("rows", "share", "sparse"), [(600, 0.05, True), (600, 0.3, False), (400, 0.05, False)])
def test_a_forest_of_many_fingerprints_is_grown_on_their_bits_alone_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch, rows: int, share: float, sparse: bool
) -> None:
    monkeypatch.setattr(fingerprints, "MANY_ROWS", 500)
    random = np.random.default_rng(0)
    x = ((random.random((rows, 64)) < share) * random.integers(1, 4, (rows, 64))).astype(np.float32)
    y = (x[:, :4].sum(1) + random.normal(size=rows) > 1).astype(float)
    read = fingerprints.by_column(x)
    assert scipy.sparse.issparse(read) == sparse
    plain, other = (RandomForestClassifier(20, random_state=0).fit(table, y) for table in (x, read))
    assert np.array_equal(plain.predict_proba(x), other.predict_proba(x))
    assert plain.predict_proba(x)[:, 1].std() > 0.1
