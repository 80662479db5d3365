"""Which columns a prediction writes, and which earlier ones it takes the place of."""

from __future__ import annotations

import pytest

from graphmae.experiments.columns import OF_MOLECULE, Columns, problem_of, replaced
from graphmae.runtime.errors import InputError

OWN = ["SMILES", "a_predicted price", "problem size"]
VARIANTS = [("regression", True), ("regression", False), ("classification", True), ("classification", False)]


def after(header: list[str], names: tuple[str, ...], kind: str, knows: bool) -> list[str]:
    """The columns of a table once more targets are predicted."""
    old = replaced(header, names)
    kept = [name for name in header if name not in old]
    return [*kept, *Columns.beside(kept, names, kind, knows).header]


@pytest.mark.parametrize(("kind", "knows"), VARIANTS)
@pytest.mark.parametrize(("later_kind", "later_knows"), VARIANTS)
def test_of_one_target_nothing_of_another_predictor_is_left(
    kind: str, knows: bool, later_kind: str, later_knows: bool
) -> None:
    """An interval of one predictor beside the prediction of another says something wrong."""
    first = after(OWN, ("y",), kind, knows)
    assert after(first, ("y",), later_kind, later_knows) == after(OWN, ("y",), later_kind, later_knows)


def test_predictions_of_other_targets_stay_whatever_the_order() -> None:
    both = after(after(OWN, ("y",), "regression", True), ("z",), "classification", True)
    assert len(set(both)) == len(both)
    assert both[-1] == "z_problem" and "problem" in both
    again = after(both, ("y",), "regression", True)
    assert sorted(again) == sorted(both)
    again = after(both, ("z",), "regression", True)
    assert set(again) - set(both) == {"z_low", "z_high"}
    assert after(both, ("y", "z"), "regression", True) == after(OWN, ("y", "z"), "regression", True)


def test_one_of_two_targets_that_were_predicted_together_is_refused() -> None:
    both = after(OWN, ("y", "z"), "regression", True)
    with pytest.raises(InputError, match=r"'y' that were made together with those of 'z'.*'y_predicted' to 'problem'"):
        replaced(both, ["y"])


def test_columns_that_only_look_like_it_are_the_table_s_own() -> None:
    for header in (
        ["SMILES", "y_predicted", "by", "problem"],
        ["problem", "y_predicted"],
        ["y_predicted", "y_low", "notes", "domain", "problem"],
    ):
        assert replaced(header, ["y"]) == []
        with pytest.raises(InputError, match="the table already has a column"):
            Columns.beside(header, ("y",), "regression", True)


@pytest.mark.parametrize(
    "text", ["CCO", "c1ccccc1", "[13CH4]", "Clc1ccccc1", "[C-]#N", "[cH-]1cccc1", "[C@H](F)(Cl)Br"]
)
def test_molecules_with_carbon_have_no_problem(text: str) -> None:
    assert problem_of(text) == ""


@pytest.mark.parametrize(
    "text", ["Cl", "N", "[Cu+2]", "[Sc]", "[Co]", "[Tc]", "O=S(=O)(O)O", "[64Cu]", "ClCl", "[Ca+2]", "[Cl-]"]
)
def test_what_is_left_of_a_salt_of_metals_is_named(text: str) -> None:
    """Sodium chloride was predicted as hydrogen chloride, cisplatin as ammonia, without a word."""
    assert problem_of(text) == f"no carbon: predicted as {text}"


def test_a_table_with_a_column_called_problem_gets_names_of_the_target() -> None:
    assert Columns.beside(["SMILES", "problem"], ("y",), "classification", True).header == [
        "y_predicted", "y_spread", *(f"y_{name}" for name in OF_MOLECULE)
    ]  # fmt: skip
