from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import warnings
sys.modules["numba"] = None  # as if it were not installed
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import graphmae as gm
    import torch
    from pathlib import Path
    folder = Path(sys.argv[1])
    for part, text in (("A", "1, 2\\n2, 1\\n3, 4\\n"), ("graph_indicator", "1\\n1\\n2\\n2\\n")):
        (folder / f"TWO_{part}.txt").write_text(text)
    assert len(gm.data.read_tu(folder, "TWO")) == 2
    model = gm.GraphMAE(gm.encoders.GIN(6, 8), gm.decoders.GAT(8, 6))
    model(torch.rand(12, 6), torch.randint(12, (2, 30))).backward()
    model(torch.rand(12, 6), torch.randint(12, (2, 30))).backward()
print(sum("numba is missing" in str(w.message) for w in seen))
"""


def test_everything_runs_without_numba_with_one_warning(tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.strip() == "1", done.stderr
