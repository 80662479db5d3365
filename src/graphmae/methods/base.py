"""The contract of a method: it learns an encoder from unlabelled graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from .. import kernels
from ..batching import Batch
from ..data.edge_data import EDGE_KEYS
from ..encoders import Composed, Views
from ..kernels import Adjacency
from ..runtime.promises import Promising
from ..runtime.resting import resting_copy
from .defaults import MethodRegistry

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Parts are made from sections of the recipe with these names, if the constructor has parameters of these names.
# Its other parameters are the options of [method].
REGISTRY = MethodRegistry("method", supplied=["encoder", "decoder", "mask", "loss"])


class Method(Promising, nn.Module):
    """An encoder, and a loss that trains it without labels.

    A method of your own defines `__init__(encoder, …)` and `loss(batch)`; register it with
    `@graphmae.methods.register("my-method")`, and `[method] name = "my-method"` in a recipe is trained, resumed, saved,
    embedded with and evaluated like GraphMAE.

    Attributes:
        encoder: what is kept after pre-training.
        criterion: what compares a prediction with its target, where there is such a part: [loss] in a recipe.
        records_steps: whether a step on one graph can be recorded on CUDA and replayed: shapes do not depend on values,
            and nothing waits for the device.
        takes_padding: whether the same holds for batches that are filled up with rows of zeros: they must not count.
        uses_edge_codes: whether a step looks at the features of single edges, not only at their sums at the nodes.
        training_only: names of modules that are needed to train and not to go on from a saved model, as a teacher is:
            they are kept with the state of a training, and not in a checkpoint.
        tasks: kinds of data it learns from: "node" (one graph), "graph" (many), "molecule".
        needs_encoder: the name of the only encoder it works with, where there is one.
        of_task: task → its own settings for data of this task, as `--set` takes them: they replace those of a recipe
            that was written for another method.
        fixed_shapes: whether its steps can be recorded wherever its parts' can.
        route: which way a loss is computed that can be computed in several, for the log.
        changes_edges: whether it hides edges from the encoder: features of edges are then needed one by one.
        loss_is_criterion: whether the loss is `criterion` of something and nothing else.
        is_sum_of_parts: whether the loss of several batches together is the mean of theirs, each counted by `terms`.
            Not where nodes or graphs of a batch are compared with each other: in parts, only those of the same part.
        tries: what is worth trying, the usual value first, written as for `graphmae tune`: "mask.rate=0.5,0.75".
        of_seeds: what it learns of a batch of seeds with sampled neighbours, in words; "": it cannot.
        reach: how far from a seed, in steps, codes are looked at by the loss.
        views: what an embedding is made of beside what the encoder learned; None: nothing.
        inputs: how features and self-loops were treated; stored with the weights.
        trained_on: what it was trained on, for the model card; stored as well.
    """

    promises = {"loss": ("fixed_shapes", "takes_padding")}  # noqa: RUF012
    encoder: nn.Module
    training_only: ClassVar[tuple[str, ...]] = ()
    tasks: ClassVar[tuple[str, ...]] = ("node", "graph", "molecule")
    needs_encoder: ClassVar[str] = ""
    of_task: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    fixed_shapes: ClassVar[bool] = False
    changes_edges: ClassVar[bool] = False
    loss_is_criterion: ClassVar[bool] = True
    is_sum_of_parts: ClassVar[bool] = False
    of_seeds: ClassVar[str] = ""
    tries: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.criterion: nn.Module | None = None
        self.inputs: dict[str, object] = {}
        self.trained_on: dict[str, object] = {}
        self.views: Views | None = None

    @property
    def records_steps(self) -> bool:
        return self.fixed_shapes and bool(getattr(self.encoder, "records_steps", False))

    @property
    def takes_padding(self) -> bool:
        return False

    @property
    def route(self) -> str:
        return ""

    @property
    def uses_edge_codes(self) -> bool:
        return self.changes_edges and bool(getattr(self.encoder, "edge_channels", 0))

    @property
    def reach(self) -> int:
        return 0

    def loss(self, batch: Batch) -> Tensor:
        """The pre-training loss of one random draw: a scalar."""
        raise TypeError(f"{type(self).__name__} must define loss(batch)")

    def terms(self, batch: Batch) -> Tensor | int:
        """How many terms the loss of this batch, the one just computed, is the mean of: its weight among several."""
        counted = getattr(self.criterion, "terms", None) if self.loss_is_criterion else None
        if counted is not None:
            return counted
        return len(batch.x) if batch.seeds is None else len(batch.seeds)

    @classmethod
    def decoded_channels(cls, encoder: nn.Module, features: int) -> int:
        """The width a decoder of this method gives, where the targets are `features` wide."""
        return features

    def prepare(self, steps: int) -> None:
        """Called once before training, on the device it runs on: how many steps there will be."""

    def after_step(self) -> None:
        """Called after every step of the optimiser, and recorded with it: what is not learned by gradients."""

    def after_epoch(self) -> None:
        """Called after every epoch; what changes here is kept in buffers, so that a resumed training has it."""

    def encode(self, batch: Batch) -> Tensor:
        """[N, out_channels]: what the encoder makes of a batch."""
        return kernels.encode(self.encoder, batch.x, batch.edges(self.encoder))

    def pair_scores(self, code: Tensor, first: Tensor, second: Tensor) -> Tensor | None:
        """[M] how likely pairs of nodes are joined, by what the method learned of that; None: it learned nothing."""
        return None

    def forward(
        self, x: Tensor | Batch, edge_index: Tensor | Adjacency | None = None, batch: Tensor | None = None
    ) -> Tensor:
        """The loss of a `Batch`, or of `x` [N, in_channels] and `edge_index` [2, E] with `batch` [N] as in PyG."""
        if isinstance(x, Batch):
            return self.loss(x)
        assert edge_index is not None
        return self.loss(Batch(x, edge_index, batch))

    @property
    def reader(self) -> nn.Module:
        """What gives embeddings: the encoder or, where the model has views, all of them side by side."""
        return self.encoder if self.views is None else Composed(self.encoder, self.views)

    def as_seen(self, data: Data) -> Data:
        """The graph as the encoder sees it."""
        if self.views is None:
            return data
        from torch_geometric.data import Data

        edges = {key: data[key] for key in ("edge_index", *EDGE_KEYS) if key in data}
        return Data(x=resting_copy(self.views, "cpu").inputs(data.x, kernels.edges_of(data)), **edges)

    @property
    def parts(self) -> dict[str, Any]:
        """Section of a recipe → the part it describes, as far as this method has it."""
        named = {"encoder": self.encoder, "decoder": getattr(self, "decoder", None)}
        named |= {"mask": getattr(self, "mask", None), "loss": self.criterion}
        return {section: part for section, part in named.items() if part is not None}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and a model card; `from_pretrained(folder)` gives the model back."""
        from ..pretrained import save

        save(self, folder)

    @classmethod
    def from_pretrained(cls, source: str | Path) -> Any:
        """A saved model: a folder, the name of one that comes with graphmae, or hf:OWNER/NAME."""
        from ..pretrained import load

        return load(source)

    def push_to_hub(self, name: str, private: bool = False) -> str:
        """Upload to the Hugging Face hub as OWNER/NAME; returns the address."""
        import tempfile

        from ..pretrained import save, to_hub

        with tempfile.TemporaryDirectory() as folder:
            return to_hub(save(self, folder), name, private)


def learns_from(name: str, task: str) -> bool:
    """Whether a registered method learns from data of this task; a graph without one is one for nodes."""
    tasks: tuple[str, ...] = REGISTRY.get(name).tasks  # type: ignore[attr-defined]
    return ("node" if task == "none" else task) in tasks


def kinds_of_data(name: str) -> str:
    """What a registered method learns from, in words."""
    words = {"node": "single graphs", "graph": "many graphs", "molecule": "molecules"}
    return " and ".join(words[task] for task in REGISTRY.get(name).tasks)  # type: ignore[attr-defined]
