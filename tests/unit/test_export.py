"""The exported encoder runs without our kernels, on graphs of any size, and says the same."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import graphmae as gm
from graphmae.pretrained import export_encoder
from graphmae.runtime.errors import InputError


@pytest.mark.parametrize(
    "encoder",
    [
        gm.encoders.GAT(6, hidden_channels=8, heads=2, norm="layer", residual=True),
        gm.encoders.GIN(6, hidden_channels=8, output="all"),
        gm.encoders.GCN(6, hidden_channels=8, num_layers=3),
    ],
    ids=["gat", "gin", "gcn"],
)
def test_a_written_program_agrees(encoder: torch.nn.Module, tmp_path: Path) -> None:
    with torch.no_grad():  # moments a batch norm would have after training
        for part in encoder.modules():
            if isinstance(part, torch.nn.BatchNorm1d):
                part.running_mean.normal_()  # type: ignore[union-attr]
                part.running_var.uniform_(0.5, 2)  # type: ignore[union-attr]
    export_encoder(encoder.eval(), tmp_path / "encoder.pt2")
    program = torch.export.load(tmp_path / "encoder.pt2").module()
    for nodes in (4, 30):
        edges = torch.cat([torch.randint(nodes, (2, 3 * nodes)), torch.arange(nodes).expand(2, -1)], dim=1)
        x = torch.randn(nodes, 6)
        with torch.no_grad():
            assert torch.allclose(program(x, edges), encoder(x, edges), atol=1e-5)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be exported"):
        export_encoder(gm.encoders.MoleculeGIN(124, 8, 2, edge_channels=12))
    with pytest.raises(InputError, match="pt2"):
        export_encoder(gm.encoders.GCN(3), tmp_path / "encoder.onnx")
    with pytest.raises(InputError, match="not a folder"):
        export_encoder(gm.encoders.GCN(3), tmp_path / "none" / "encoder.pt2")


def test_a_model_goes_to_the_hub_as_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is handed to the hub's own client; the hub itself cannot be reached from a test."""
    calls: list[tuple[str, object]] = []

    class Api:
        def create_repo(self, name: str, private: bool, exist_ok: bool) -> str:
            calls.append((name, private))
            return f"hub/{name}"

        def upload_folder(self, repo_id: str, folder_path: str, allow_patterns: list[str]) -> None:
            calls.append((repo_id, sorted(path.name for path in Path(folder_path).iterdir())))

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=Api))
    model = gm.GraphMAE(gm.encoders.GCN(3, hidden_channels=4), gm.decoders.GCN(4, 3))
    assert model.push_to_hub("me/mine", private=True) == "hub/me/mine"
    assert calls == [("me/mine", True), ("me/mine", ["README.md", "config.json", "model.safetensors"])]


def test_from_pretrained_gives_the_model_back(tmp_path: Path) -> None:
    model = gm.GraphMAE(gm.encoders.GCN(3, hidden_channels=4), gm.decoders.GCN(4, 3))
    model.save_pretrained(tmp_path / "m")
    again = gm.GraphMAE.from_pretrained(tmp_path / "m")
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))
