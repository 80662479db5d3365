"""Molecules for scikit-learn: SMILES in, embeddings of a pre-trained encoder out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import pretrained
from .data.molecules.descriptors import NAMES
from .data.molecules.featurized import featurize
from .data.molecules.fingerprints import BITS
from .inference.molecules import embed_molecules
from .runtime.device import numerics, resolve_device
from .runtime.errors import InputError, unknown

AT_ONCE = 8192
FEATURES = ("embedding", "ecfp", "descriptors")
UNREADABLE = ("error", "nan")


class MoleculeEmbedder(TransformerMixin, BaseEstimator):
    """SMILES strings to rows of features: embeddings, and beside them fingerprints or descriptors where asked for.

    The encoder is pre-trained and stays as it is, so nothing is learned in `fit`, and folds of a cross-validation do
    not see each other.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(MoleculeEmbedder(), Ridge())  # doctest: +SKIP
    >>> model.fit(["CCO", "CCN", "CCC"], [0.1, 0.5, 0.9]).predict(["CCCl"])  # doctest: +SKIP

    Args:
        model: folder of a model that was pre-trained on molecules, or "molecule-zinc".
        features: "embedding", or several with + between: "embedding+ecfp+descriptors".
        readout: mean, max, sum or several, "mean+max".
        standardize: take salts off and neutralise charges first.
        unreadable: "error" refuses strings that are not molecules, "nan" gives rows of NaN.
    """

    def __init__(
        self,
        model: str = "molecule-zinc",
        features: str = "embedding",
        readout: str = "mean",
        standardize: bool = False,
        unreadable: str = "error",
        device: str = "auto",
    ) -> None:
        self.model = model
        self.features = features
        self.readout = readout
        self.standardize = standardize
        self.unreadable = unreadable
        self.device = device

    def fit(self, X: Iterable[str], y: Any = None) -> Self:  # noqa: N803
        """Load the encoder and check the strings."""
        for name in self.features.split("+"):
            if name not in FEATURES:
                raise InputError(unknown("feature", name, FEATURES))
        if self.unreadable not in UNREADABLE:
            raise InputError(unknown("value of unreadable", self.unreadable, UNREADABLE))
        self._strings(X)
        width = int(self._encoder().out_channels) * len(self.readout.split("+"))
        widths = {"embedding": width, "ecfp": BITS, "descriptors": len(NAMES)}
        self.n_features_out_ = sum(widths[name] for name in self.features.split("+"))
        self.n_features_in_ = 1
        return self

    def transform(self, X: Iterable[str]) -> np.ndarray:  # noqa: N803
        """[molecules, n_features_out_] float32."""
        check_is_fitted(self, "n_features_out_")
        texts, used, names = self._strings(X), resolve_device(self.device), self.features.split("+")
        out = np.full((len(texts), self.n_features_out_), np.nan, dtype=np.float32)
        for first in range(0, len(texts), AT_ONCE):
            part = texts[first : first + AT_ONCE]
            found = featurize(part, standardize=self.standardize, with_descriptors="descriptors" in names)
            if len(found) < len(part) and self.unreadable == "error":
                bad = sorted(set(range(len(part))) - set(found.rows.tolist()))
                raise InputError(
                    f"{len(bad)} strings are not molecules (the first: row {first + bad[0]}, {part[bad[0]][:60]!r}); "
                    'leave them out, or take unreadable="nan"'
                )
            if found.graphs is None:
                continue
            blocks = {"ecfp": found.counts, "descriptors": found.descriptors}
            if "embedding" in names:
                with numerics(used):
                    blocks["embedding"] = embed_molecules([self._encoder()], found.graphs, self.readout, used)[
                        0
                    ].numpy()
            out[first + found.rows] = np.concatenate([blocks[name].astype(np.float32) for name in names], axis=1)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self, "n_features_out_")
        names: list[str] = []
        for name in self.features.split("+"):
            if name == "descriptors":
                names += NAMES
            else:
                wide = BITS if name == "ecfp" else self.n_features_out_ - self._beside()
                names += [f"{'graphmae' if name == 'embedding' else name}{i}" for i in range(wide)]
        return np.array(names, dtype=object)

    def _beside(self) -> int:
        widths = {"embedding": 0, "ecfp": BITS, "descriptors": len(NAMES)}
        return sum(widths[name] for name in self.features.split("+"))

    def _encoder(self) -> Any:
        """Loaded once; copies and pickles load it again, by its name."""
        if getattr(self, "_loaded", (None, None))[0] != self.model:
            network = pretrained.load(self.model)
            if network.inputs.get("features") != "molecule":
                raise InputError(f"{self.model} was not pre-trained on molecules; take molecule-zinc, or pre-train one")
            self._loaded = (self.model, network.encoder.eval())
        return self._loaded[1]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_loaded"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit = True, False, True
        return tags

    @staticmethod
    def _strings(X: Iterable[str]) -> list[str]:  # noqa: N803
        """A list, an array or a column of strings; a table of one column is taken for that column."""
        if isinstance(X, str):
            raise InputError("give a list of SMILES strings, not one string")
        rows = np.asarray(X, dtype=object)
        if rows.ndim == 2 and rows.shape[1] == 1:
            rows = rows[:, 0]
        if rows.ndim != 1 or not len(rows):
            raise InputError("SMILES must be a list of strings, at least one")
        if wrong := [row for row, text in enumerate(rows) if not isinstance(text, str)]:
            raise InputError(f"SMILES must be strings; row {wrong[0]} is {type(rows[wrong[0]]).__name__}")
        return [str(text) for text in rows]
