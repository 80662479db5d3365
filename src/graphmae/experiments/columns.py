"""The columns of predictions, beside those a table came with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..finetuning import Answers, Committee
from ..runtime.errors import InputError

OF_TARGET = ("predicted", "low", "high", "spread")
OF_MOLECULE = ("nearest_smiles", "nearest_id", "tanimoto", "embedding_similarity", "domain", "problem")
# Of an atom of a SMILES string, in brackets or not.
SYMBOL = re.compile(r"\[\d*([A-Z][a-z]?|[a-z]{1,2})|(Cl|Br|[BCNOPSFIbcnops])")
TEXT = ("nearest_smiles", "nearest_id", "domain", "problem")


@dataclass(frozen=True)
class Columns:
    """What is written for every molecule."""

    names: tuple[str, ...]
    kind: str
    knows_training: bool
    prefix: str = ""  # of the names that do not say which target: a table may have those of another predictor

    @classmethod
    def beside(cls, header: Sequence[str], names: tuple[str, ...], kind: str, knows_training: bool) -> Columns:
        """Columns for a table that has `header`, without what is to be replaced in it."""
        plain = cls(names, kind, knows_training)
        named = cls(names, kind, knows_training, f"{names[0]}_")
        out = named if set(OF_MOLECULE) & set(header) else plain
        if taken := [name for name in out.header if name in header]:
            raise InputError(f"the table already has a column {taken[0]!r}; rename it, the predictions are called so")
        return out

    @property
    def header(self) -> list[str]:
        out = []
        for name in self.names:
            out.append(f"{name}_predicted")
            if self.kind == "regression" and self.knows_training:
                out += [f"{name}_low", f"{name}_high"]
            out.append(f"{name}_spread")
        return [*out, *(self.prefix + name for name in (OF_MOLECULE if self.knows_training else OF_MOLECULE[-1:]))]

    def is_text(self, name: str) -> bool:
        """Whether a column of `header` has words; the others have numbers."""
        return name in [self.prefix + text for text in TEXT]

    def rows(self, committee: Committee, answers: Answers, smiles: Sequence[str]) -> list[list[str]]:
        """The cells of every molecule; `smiles` are of what was predicted, without salts."""
        columns: list[Sequence[str]] = []
        for target in range(len(self.names)):
            columns.append(_numbers(answers.values[:, target]))
            if answers.low is not None and answers.high is not None and self.knows_training:
                columns += [_numbers(answers.low[:, target]), _numbers(answers.high[:, target])]
            spread = answers.spread[:, target]
            columns.append(_numbers(spread) if committee.can_disagree else [""] * len(spread))
        near, automatic = answers.near, committee.automatic
        if near is not None and automatic is not None and automatic.domain is not None:
            known = automatic.domain
            columns += [[known.smiles[i] for i in near.nearest], [known.ids[i] for i in near.nearest]]
            columns += [[f"{value:.3f}" for value in values.tolist()] for values in (near.tanimoto, near.cosine)]
            columns.append(["in" if inside else "out" for inside in near.inside])
        return [list(row) for row in zip(*columns, map(problem_of, smiles), strict=True)]


def _numbers(values: np.ndarray) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]


def problem_of(smiles: str) -> str:
    """What is odd about a molecule that is predicted all the same; "" for nothing.

    >>> problem_of("CCO"), problem_of("Cl"), problem_of("*c1ccccc1")
    ('', 'no carbon: predicted as Cl', 'has an undefined atom (*)')
    """
    if "*" in smiles:
        return "has an undefined atom (*)"
    has_carbon = any((inside or outside).lower() == "c" for inside, outside in SYMBOL.findall(smiles))
    return "" if has_carbon else f"no carbon: predicted as {smiles}"


def replaced(header: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns of a table that earlier predictions of the targets `names` wrote: all of one prediction, or none.

    An interval, or a nearest molecule, of one predictor beside the prediction of another would mislead.

    >>> replaced(["SMILES", "y_predicted", "y_low", "y_high", "y_spread", "problem"], ["y"])
    ['y_predicted', 'y_low', 'y_high', 'y_spread', 'problem']
    """
    found: list[str] = []
    for targets, columns in _predictions(header):
        if set(targets) <= set(names):
            found += columns
        elif both := set(targets) & set(names):
            others = ", ".join(repr(name) for name in targets if name not in both)
            raise InputError(
                f"the table has predictions of {sorted(both)[0]!r} that were made together with those of {others}: "
                f"columns {columns[0]!r} to {columns[-1]!r}. Remove or rename these columns, or take the table "
                "without them"
            )
    return found


def _predictions(header: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """(targets, columns) of every prediction that was written into the table, whose columns are side by side."""
    begin = 0
    for end, last in enumerate(header):
        if last != "problem" and not last.endswith("_problem"):
            continue
        prefix = last.removesuffix("problem")
        some = list(header[begin : end + 1])
        starts = [at for at, name in enumerate(some) if name.endswith("_predicted")]
        if prefix:
            starts = [at for at in starts if some[at] == f"{prefix}predicted"]
        # Columns that come before may have such names by chance: all from one of them on must be of a prediction.
        for start in starts:
            columns = some[start:]
            targets = [name.removesuffix("_predicted") for name in columns if name.endswith("_predicted")]
            known = {f"{target}_{what}" for target in targets for what in OF_TARGET}
            if set(columns) <= known | {prefix + name for name in OF_MOLECULE}:
                yield targets, columns
                begin = end + 1
                break
