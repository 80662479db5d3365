"""A page to look at: one HTML file that shows runs, and the same charts as figures for papers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..experiments.collect import collect
from ..experiments.folder import RunFolder
from ..reporting import page, plots
from ..runtime.device import resolve_device, with_torch_defaults
from ..runtime.environment import package_version
from ..runtime.errors import InputError
from ..runtime.files import as_path, write_text
from .arguments import check_output

logger = logging.getLogger("graphmae")


@with_torch_defaults
def report(
    runs: str | Path | Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    figures: str | Path | None = None,
    data: Any = None,
    columns: Sequence[str] | None = None,
    title: str = "",
    data_root: str | Path | None = None,
    device: str = "auto",
) -> Path:
    """Write one self-contained HTML page of one run or several side by side, and return its path.

    `runs` are folders of `run`, `pretrain`, `finetune` or `compare`. Data is opened again as the run's recipe says;
    `data` is it instead, where it was in memory or has moved. `columns` are those of your own table to show (default:
    all, up to 16; an empty list: none). With `figures`, the charts are also written into that folder as PDF and SVG,
    which needs matplotlib.

    >>> report("runs/cora", "cora.html")  # doctest: +SKIP
    >>> report(["runs/a", "runs/b"], figures="figures")  # doctest: +SKIP
    """
    folders = [RunFolder(as_path(run, "a run")) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    if not folders:
        raise InputError("name at least one run: the --out of run, pretrain, finetune or compare")
    check_output("report", out, runs, data)
    for folder in folders:
        _ = folder.kind
    if data is not None and len(folders) > 1:
        raise InputError("data is that of a single run; make one page per run, or leave it to the recipes")
    if figures is not None:
        plots.check_installed()
    used, sheets = resolve_device(device), []
    for folder in folders:
        logger.info("report: %s", folder.path)
        sheets.append(collect(folder, used, root=data_root, data=data, columns=columns))
    write_text(out, page.render(sheets, title, version=package_version()))
    if figures is not None:
        plots.write_figures(sheets, Path(figures))
    return Path(out)


def report_of(folder: Path | None, data: Any = None, **options: Any) -> Path:
    """The page of a run that has just ended, in its own folder."""
    if folder is None:
        raise InputError("a report is written into the run's folder: name one with out")
    return report(folder, RunFolder(folder).report, data=data, **options)
