"""A column that says what the label says is refused or shouted about, and honest features are not."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import DataError, InputError

SMALL = ("encoder.hidden_channels=8", "encoder.heads=1", "embedding.views=[]")
ROWS = 240
Columns = dict[str, Any]


def classes(kind: str, draw: np.random.Generator) -> np.ndarray:
    """A label of one of several kinds."""
    if kind == "two words":
        return draw.choice(["adult", "child"], ROWS, p=[0.6, 0.4])
    if kind == "numbers":
        return draw.integers(0, 5, ROWS)
    if kind == "seldom":
        return draw.choice(["fine", "broken", "lost"], ROWS, p=[0.8, 0.15, 0.05])
    return draw.choice(["databases", "language", "vision", "networks"], ROWS)


LABELS = ("two words", "numbers", "seldom", "four words")


def codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def swapped(y: np.ndarray, share: float, draw: np.random.Generator) -> np.ndarray:
    """The same with another class in a share of the rows."""
    names, code = np.unique(y, return_inverse=True)
    other = (code + draw.integers(1, len(names), len(y))) % len(names)
    return names[np.where(draw.random(len(y)) < share, other, code)]


SAME: dict[str, Callable[[np.ndarray, np.random.Generator], Columns]] = {
    "copy": lambda y, draw: {"topic2": y},
    "capitals": lambda y, draw: {"topic2": np.char.upper(y.astype(str))},
    "codes": lambda y, draw: {"topic2": codes(y) + 1},
    "class and letter": lambda y, draw: {"topic2": [f"class {'abcdefgh'[code]}" for code in codes(y)]},
    "other names": lambda y, draw: {"topic2": [("yes", "no", "maybe", "later", "never")[code] for code in codes(y)]},
    "measured": lambda y, draw: {"topic2": 17.25 * (codes(y) + 1) ** 2},
}
TELLING: dict[str, Callable[[np.ndarray, np.random.Generator], Columns]] = {
    "97 percent": lambda y, draw: {"topic2": swapped(y, 0.03, draw)},
    "indicators": lambda y, draw: {f"is_{code}": (codes(y) == code).astype(int) for code in range(codes(y).max())},
    "finer": lambda y, draw: {"topic2": np.char.add(y.astype(str), draw.choice(["-a", "-b", "-c"], ROWS))},
    "noisy number": lambda y, draw: {"topic2": codes(y) * 10 + draw.normal(size=ROWS)},
    "words": lambda y, draw: {"topic2": [
        f"{' '.join(draw.choice(['on', 'the', 'new', 'old', 'fast', 'way'], 3))} label{'abcdefgh'[code]} of {row % 60}"
        for row, code in enumerate(codes(y))
    ]},
    "empty where": lambda y, draw: {"topic2": np.where(codes(y) == 0, np.nan, draw.integers(18, 90, ROWS)),
                                    **{f"is_{code}": codes(y) == code for code in range(1, codes(y).max())}},
}  # fmt: skip


def honest(y: np.ndarray, draw: np.random.Generator) -> Columns:
    """What real columns are like: some tell much of the label, none tells all of it."""
    order = codes(y)
    return {
        "venue": swapped(order, 0.15, draw).astype(str).astype(object) + "th",
        "years": 3 * order + draw.normal(scale=3, size=ROWS),
        "open": np.where(draw.random(ROWS) < 0.15, draw.random(ROWS) < 0.5, order == 0),
        "city": draw.choice([f"city{i}" for i in range(40)], ROWS),
        "price": draw.lognormal(3, 1, ROWS).round(2),
        "title": [" ".join(f"word{i}" for i in [*draw.integers(0, 20, 4), *draw.integers(9 * code, 9 * code + 20, 2)])
                  for code in order],
    }  # fmt: skip


def friends(draw: np.random.Generator) -> pandas.DataFrame:
    ends = draw.integers(0, ROWS, (3 * ROWS, 2))
    return pandas.DataFrame({"source": [f"n{i}" for i in ends[:, 0]], "target": [f"n{i}" for i in ends[:, 1]]})


def tables(columns: Columns, draw: np.random.Generator) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    return pandas.DataFrame({"id": [f"n{i}" for i in range(ROWS)], **columns}), friends(draw)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("kind", SAME)
def test_a_column_that_says_the_same_is_refused(kind: str, label: str) -> None:
    """A copy of the label, however it is called or written, gave 98.7 to 100 % without a word."""
    draw = np.random.default_rng([*map(ord, kind + label)])
    y = classes(label, draw)
    people, edges = tables({**honest(y, draw), "topic": y, **SAME[kind](y, draw)}, draw)
    with pytest.raises(
        DataError, match=r"'topic2' says the same as the label 'topic'.*data\.kinds=\{topic2=\"ignore\"\}"
    ):
        gm.data.from_tables(people, edges, label="topic")
    gm.data.from_tables(people, edges, label="topic", kinds={"topic2": "ignore"})


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("kind", TELLING)
def test_columns_that_tell_the_label_are_shouted_about(kind: str, label: str, caplog: pytest.LogCaptureFixture) -> None:
    """97 % of the label, two indicators together, a finer version of it, its words in a text: not a word was said."""
    draw = np.random.default_rng([*map(ord, kind + label)])
    y = classes(label, draw)
    leaking = TELLING[kind](y, draw)
    people, edges = tables({**honest(y, draw), "topic": y, **leaking}, draw)
    try:
        gm.data.from_tables(people, edges, label="topic")
        said = warnings_of(caplog)
    except DataError as error:  # of two classes, one indicator says the same
        said = [str(error)]
    assert said and all(any(name in text for name in leaking) for text in said), said
    assert "the label 'topic'" in said[0] and 'ignore"' in said[0] and "data.kinds=" in said[0]
    assert not any(name in text for name in honest(y, draw) for text in said), said


@pytest.mark.parametrize("seed", range(12))
def test_honest_columns_are_neither_refused_nor_shouted_about(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """A check that refuses good features makes people switch it off: 85 % of agreement is a good feature."""
    draw = np.random.default_rng(seed)
    y = classes(LABELS[seed % 4], draw)
    people, edges = tables({**honest(y, draw), "topic": y, "almost": swapped(y, 0.12, draw)}, draw)
    gm.data.from_tables(people, edges, label="topic")
    assert warnings_of(caplog) == []


def test_a_column_whose_kind_was_set_is_kept_and_still_said(caplog: pytest.LogCaptureFixture) -> None:
    """Someone who knows the column is known before the label must be able to go on, in evaluation too."""
    draw = np.random.default_rng(0)
    y = classes("four words", draw)
    people, edges = tables({**honest(y, draw), "topic": y, "topic2": y}, draw)
    columns: dict[str, Any] = {"label": "topic", "kinds": {"topic2": "category"}}
    model = gm.pretrain("auto", (people, edges), epochs=1, overrides=SMALL, columns=columns, progress=False)
    assert any("'topic2' says the same" in text for text in warnings_of(caplog))
    caplog.clear()
    gm.evaluate(model, (people, edges), overrides=["evaluation.epochs=1", "evaluation.baselines=[]"])
    assert any("'topic2' says the same" in text for text in warnings_of(caplog))


def test_pretrain_and_evaluate_refuse_at_the_command_line(tmp_path: Path) -> None:
    """`pretrain --label topic` and `evaluate --label topic` on a table with a copy of it: exit code 0, 100.0 %."""
    draw = np.random.default_rng(0)
    y = classes("four words", draw)
    people, edges = tables({**honest(y, draw), "topic": y, "topic2": codes(y) + 1}, draw)
    people.to_csv(tmp_path / "n.csv", index=False)
    edges.to_csv(tmp_path / "e.csv", index=False)
    files, quick = (tmp_path / "n.csv", tmp_path / "e.csv"), [word for text in SMALL for word in ("--set", text)]
    done = graphmae("pretrain", *files, "--label", "topic", "--out", tmp_path / "a", "--epochs", 1, *quick)
    assert done.returncode == 2 and "'topic2' says the same as the label 'topic'" in done.stderr
    hidden = 'data.kinds={topic="ignore"}'
    done = graphmae("pretrain", *files, "--out", tmp_path / "b", "--epochs", 1, *quick, "--set", hidden)
    assert done.returncode == 0, done.stderr
    done = graphmae("evaluate", tmp_path / "b", *files, "--label", "topic")
    assert done.returncode == 2 and "'topic2' says the same as the label 'topic'" in done.stderr
    assert "Pre-train again without it" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def visited() -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """People with the number of their visits, and what may be made from it."""
    draw = np.random.default_rng(3)
    views = draw.lognormal(5, 2, ROWS).round()
    people, edges = tables({
        "days": draw.integers(1, 900, ROWS),
        "partner": views > np.quantile(views, 0.97),
        "fans": (views ** 0.5 * draw.lognormal(0, 0.9, ROWS)).round(),
        "views": views,
    }, draw)  # fmt: skip
    return people, edges


OF_NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "itself": lambda v: v,
    "logarithm": lambda v: np.log1p(v),
    "rounded logarithm": lambda v: np.log1p(v).round(2),
    "other unit": lambda v: 3.7 - v * 0.00123,
    "rank": lambda v: pandas.Series(v).rank().to_numpy(),
    "root": lambda v: v**0.5,
}
ABOUT_NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "nearly": lambda v: v * np.random.default_rng(0).lognormal(0, 0.05, len(v)),
    "bands": lambda v: pandas.cut(v, [-1, 20, 150, 1000, 1e9], labels=["few", "some", "many", "most"]).astype(str),
    "above": lambda v: v > np.median(v),
    "distance": lambda v: (np.log1p(v) - 5) ** 2,
}


def embedder(people: pandas.DataFrame, edges: pandas.DataFrame, **kinds: str) -> gm.NodeEmbedder:
    return gm.NodeEmbedder((people, edges), epochs=1, overrides=SMALL, columns={"kinds": kinds} if kinds else None)


@pytest.mark.parametrize("kind", OF_NUMBERS)
def test_a_number_that_is_a_function_of_y_is_refused(kind: str, visited: Any) -> None:
    """`y = log1p(views)` with views in the features: accepted, R² 0.998. Guarded were classes alone."""
    people, edges = visited
    y = OF_NUMBERS[kind](people["views"].to_numpy())
    with pytest.raises(
        InputError, match=r"'views' says the same as y.*columns=\{\"kinds\": \{\"views\": \"ignore\"\}\}"
    ):
        embedder(people, edges).fit(people["id"], y)


def test_the_remedy_for_numbers_works_and_honest_ones_are_quiet(visited: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Fans correlate with views, as they do in life: that is a feature."""
    people, edges = visited
    embedder(people, edges, views="ignore", partner="ignore").fit(people["id"], people["views"])
    assert warnings_of(caplog) == []


@pytest.mark.parametrize("kind", ABOUT_NUMBERS)
def test_columns_made_from_a_number_are_shouted_about(
    kind: str, visited: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A column made from y that does not keep its order, or keeps it roughly."""
    people, edges = visited
    changed = people.assign(views=ABOUT_NUMBERS[kind](people["views"].to_numpy()))
    model = embedder(changed, edges)
    for _ in range(2):  # folds do not repeat it
        model.fit(people["id"], people["views"])
    assert sum("'views'" in text and "y" in text for text in warnings_of(caplog)) == 1, warnings_of(caplog)


@pytest.mark.parametrize("kind", ["copy", "other names", "codes"])
def test_nodeembedder_refuses_classes_too(kind: str) -> None:
    """One mechanism: what `pretrain` refuses, `NodeEmbedder` refuses."""
    draw = np.random.default_rng(1)
    y = classes("four words", draw)
    people, edges = tables({**honest(y, draw), **SAME[kind](y, draw)}, draw)
    with pytest.raises(InputError, match="'topic2' says the same as y"):
        embedder(people, edges).fit(people["id"], y)


@pytest.mark.parametrize("name", ["target", "Label", "y", "class", "outcome"])
def test_a_column_called_like_a_target_is_asked_about(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """`target` became a feature in silence where --label was forgotten."""
    draw = np.random.default_rng(1)
    people, edges = tables({name: draw.integers(0, 9, ROWS), "age": draw.integers(1, 99, ROWS)}, draw)
    gm.pretrain("auto", (people, edges), epochs=1, overrides=SMALL, progress=False)
    (text,) = warnings_of(caplog)
    assert f"the column {name!r} becomes a feature" in text and f"--label {name}" in text
    assert f'data.kinds={{{name}="ignore"}}' in text
    caplog.clear()
    gm.data.from_tables(people, edges, kinds={name: "number"})  # on purpose
    gm.data.from_tables(people, edges, label=name)
    assert warnings_of(caplog) == []


def test_a_graph_on_disk_is_guarded_as_well(tmp_path: Path) -> None:
    """`graphmae store` makes features of the same columns: a copy of the label is refused there, too."""
    draw = np.random.default_rng(0)
    y = classes("four words", draw)
    people, edges = tables({**honest(y, draw), "topic": y, "topic2": codes(y) + 1}, draw)
    people.to_csv(tmp_path / "n.csv", index=False)
    edges.to_csv(tmp_path / "e.csv", index=False)
    words = ("store", tmp_path / "n.csv", tmp_path / "e.csv", "--out", tmp_path / "s")
    done = graphmae(*words, "--label", "topic")
    assert done.returncode == 2 and "'topic2' says the same as the label 'topic'" in done.stderr, done.stderr
    people.drop(columns="topic2").to_csv(tmp_path / "n.csv", index=False)
    assert graphmae(*words, "--label", "topic").returncode == 0


def test_a_label_of_numbers_says_what_to_do(tmp_path: Path) -> None:
    """`--label views`: "numbers to predict cannot be evaluated here", and no way on."""
    draw = np.random.default_rng(0)
    people, edges = tables({"views": draw.normal(size=ROWS), "age": draw.integers(1, 99, ROWS)}, draw)
    with pytest.raises(DataError, match=r'data\.kinds = \{ views = "ignore" \}, and fit a regression'):
        gm.data.from_tables(people, edges, label="views")


def test_one_long_cell_among_the_labels_does_not_cost_its_length_in_every_row() -> None:
    """The check for leaks made an array of texts, each as wide as the longest: 5,000 rows of 100 KB."""
    rows = 2_000
    label = pandas.Series([*("ab"[i % 2] for i in range(rows - 1)), "a" * 1_000_000])
    nodes = pandas.DataFrame({"id": range(rows), "x": range(0, 2 * rows, 2), "label": label})
    edges = pandas.DataFrame({"source": range(rows - 1), "target": range(1, rows)})
    tracemalloc.start()
    gm.data.from_tables(nodes, edges, label="label")
    assert tracemalloc.get_traced_memory()[1] < 300e6  # 8 GB
    tracemalloc.stop()
