"""The contract of a method: it learns an encoder from unlabelled graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from ..runtime.errors import ConfigError


def check_widths(encoder: nn.Module, decoder: nn.Module) -> tuple[int, int, int]:
    """(width of the code, of the features, of the decoder's input) of two parts that fit together."""
    for part in (encoder, decoder):
        for width in ("in_channels", "out_channels"):
            if not isinstance(getattr(part, width, None), int):
                raise ConfigError(f"{type(part).__name__} must have the attribute {width}, a whole number")
    code, features = int(encoder.out_channels), int(encoder.in_channels)  # type: ignore[arg-type]
    if decoder.out_channels > features:  # type: ignore[operator]
        raise ConfigError(
            f"the decoder gives {decoder.out_channels} features, the encoder takes {features}; it can give the "
            "first few, but not more"
        )
    return code, features, int(decoder.in_channels)  # type: ignore[arg-type]


class Method(nn.Module):
    """An encoder, and a loss that trains it: `forward(x, edge_index, batch=None)` is the loss of one random draw.

    Attributes:
        encoder: what is kept after pre-training.
        inputs: how features and self-loops were treated; stored with the weights.
        trained_on: what it was trained on, for the model card; stored as well.
    """

    encoder: nn.Module

    def __init__(self) -> None:
        super().__init__()
        self.inputs: dict[str, object] = {}
        self.trained_on: dict[str, object] = {}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and a model card; `from_pretrained(folder)` gives the model back."""
        from ..pretrained import save

        save(self, folder)  # type: ignore[arg-type]

    @classmethod
    def from_pretrained(cls, place: str | Path) -> Any:
        """A saved model: a folder, the name of one that comes with graphmae, or hf:OWNER/NAME."""
        from ..pretrained import load

        return load(place)

    def push_to_hub(self, name: str, private: bool = False) -> str:
        """Upload to the Hugging Face hub as OWNER/NAME; returns the address."""
        import tempfile

        from ..pretrained import save, to_hub

        with tempfile.TemporaryDirectory() as folder:
            return to_hub(save(self, folder), name, private)  # type: ignore[arg-type]
