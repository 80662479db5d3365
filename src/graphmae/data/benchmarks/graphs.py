"""The sets of whole graphs by name, as recipes call them: the seven published ones, and a folder of your own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...runtime.errors import DataError
from ..dataset import REGISTRY
from ..graphset import GraphSet
from .tu import PUBLISHED, NodeFeatures, load_tu


def _register(name: str) -> None:
    def build(
        root: str | Path | None = None,
        features: NodeFeatures = "auto",
        self_loops: bool = True,
        coalesce: bool = False,
        codes: Sequence[int] | None = None,
    ) -> GraphSet:
        return load_tu(name, root, features=features, self_loops=self_loops, coalesce=coalesce, codes=codes)

    build.__doc__ = f"{name.upper()}: whole graphs, from raw TU files."
    REGISTRY.register(name)(build)


for _name in PUBLISHED:
    _register(_name)


@REGISTRY.register("tu")
def folder_of_graphs(
    root: str | Path | None = None,
    path: str = "",
    features: NodeFeatures = "auto",
    self_loops: bool = True,
    coalesce: bool = False,
    codes: Sequence[int] | None = None,
) -> GraphSet:
    """Your own graphs from the folder `data.path` with TU files (NAME_A.txt, NAME_graph_indicator.txt, …)."""
    if not path:
        raise DataError("data.name is 'tu', but data.path does not say which folder")
    return load_tu(path, root, features=features, self_loops=self_loops, coalesce=coalesce, codes=codes)
