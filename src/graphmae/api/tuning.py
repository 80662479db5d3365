"""A search over settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config import Recipe
from ..experiments import auto
from ..experiments import tune as tuning
from ..experiments.folder import RunFolder
from ..experiments.tune import Tuned
from ..runtime.device import with_torch_defaults
from ..runtime.files import as_path, check_folder, check_out


@with_torch_defaults
def tune(
    data: Any,
    recipe: Recipe | str | Path = "auto",
    search: Sequence[str] = (),
    trials: int = 20,
    out: str | Path | None = None,
    *,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    device: str = "auto",
) -> Tuned:
    """Try `trials` settings of the keys in `search` ("mask.rate=0.3,0.5", "train.lr=1e-4..1e-2"), or the usual ones.

    With labels by the validation accuracy of the linear probe (test nodes are never looked at), without by the error
    of reconstruction. With `out` every trial and the best recipe are written there. Needs optuna.
    """
    folder = None if out is None else RunFolder(as_path(out, "out"))
    if folder is not None:
        check_folder(folder.path, "a search", folder.holds_trials and not folder.holds_run)
        if folder.recipe_toml.is_file() and isinstance(recipe, str | Path):
            check_out(folder.recipe_toml, (".toml",), [recipe])
    made, dataset = auto.recipe_for(data, recipe, overrides, columns, data_root)
    dataset.single_graph()
    return tuning.tune(dataset, made, search or tuning.SPACE, trials, seed=seed, device=device, out=folder)
