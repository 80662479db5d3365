"""GraphMAE on one page: mask → encode → re-mask → decode → score (Hou et al., KDD 2022)."""

from __future__ import annotations

import traceback
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from . import decoders, encoders, kernels, losses, masking
from .config import Recipe
from .kernels import Adjacency
from .layers import BagRows, Factored, Linear, MaskedInput, aligned, bags_of
from .masking.nodes import MaskedNodes, NodeMask
from .runtime.errors import ConfigError
from .runtime.seed import preserved_randomness


class GraphMAE(nn.Module):
    """A masked graph autoencoder made of parts.

    >>> model = GraphMAE(
    ...     encoder=encoders.GAT(in_channels=64, hidden_channels=256, num_layers=2, heads=4),
    ...     decoder=decoders.GAT(in_channels=256, out_channels=64),
    ...     mask=masking.RandomNodeMask(rate=0.5, replace_rate=0.05),
    ...     loss=losses.ScaledCosineError(gamma=3),
    ... )
    >>> x, edge_index = torch.rand(10, 64), torch.arange(10).expand(2, -1)
    >>> model(x, edge_index).shape, model.encoder(x, edge_index).shape
    (torch.Size([]), torch.Size([10, 256]))

    Args:
        remask: "zero", "learnable" or "none"; not applied for decoders that see one node at a time.
        drop_edge: share of the edges hidden from the encoder in every step.
        mask_edges: hide the features of edges from and to masked nodes too, where edges have features.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        mask: NodeMask | None = None,
        loss: nn.Module | None = None,
        remask: str = "zero",
        drop_edge: float = 0.0,
        mask_edges: bool = False,
    ) -> None:
        super().__init__()
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
        if not 0 <= drop_edge < 1:
            raise ConfigError(f"drop_edge must be in [0, 1), not {drop_edge}")
        self.encoder, self.decoder = encoder, decoder
        self.mask = mask or masking.RandomNodeMask()
        self.loss = loss or losses.ScaledCosineError()
        self.drop_edge, self.mask_edges = drop_edge, mask_edges
        self.inputs: dict[str, object] = {}  # how features and self-loops were treated; stored with the weights
        self.trained_on: dict[str, object] = {}  # what, for the model card; stored as well
        self.mask_token = nn.Parameter(torch.zeros(features))
        self.masks_embeddings = isinstance(encoder, encoders.MoleculeGIN) and encoder.mask_embedding
        if self.masks_embeddings:  # published: one row more in the table of atoms, initialised like the others
            table = torch.empty(features + 1, int(encoder.hidden_channels))  # type: ignore[arg-type]
            self.mask_token = nn.Parameter(nn.init.xavier_uniform_(table)[0].clone())
        self.bridge = Linear(code, int(decoder.in_channels), bias=False)  # type: ignore[arg-type]
        self.remask = masking.Remask(remask, int(decoder.in_channels))  # type: ignore[arg-type]

    @property
    def has_fixed_shapes(self) -> bool:
        """Whether every step on one graph has the same shapes, so that it can be recorded and replayed."""
        parts = (self.mask, self.encoder, self.decoder, self.loss)
        return all(getattr(part, "records_steps", False) for part in parts)

    @property
    def looks_at_edges(self) -> bool:
        """Whether the sums of edge features at the nodes change from step to step."""
        return self.mask_edges or (self.drop_edge > 0 and bool(getattr(self.encoder, "edge_channels", 0)))

    @property
    def takes_padding(self) -> bool:
        """Whether batches of graphs may be filled up to fixed shapes: rows of zeros must not count in the loss."""
        ours = isinstance(self.mask, masking.RandomNodeMask) and isinstance(self.encoder, encoders.StackedEncoder)
        return ours and self.has_fixed_shapes and getattr(self.loss, "leaves_out_zeros", False)

    def forward(self, x: Tensor, edge_index: Tensor | Adjacency, batch: Tensor | None = None) -> Tensor:
        """The pre-training loss of one random draw: `x` [N, in_channels], `edge_index` [2, E] → scalar.

        `batch` [N] numbers the graph of every node where there are several.
        """
        if isinstance(edge_index, Adjacency) and edge_index.valid is not None and batch is not None:
            return self._padded_loss(x, edge_index, batch)
        hidden = self.mask.draw(x.size(0), x.device, batch)  # 1
        if self.mask_edges:
            flags = torch.zeros(x.size(0), dtype=torch.bool, device=x.device)
            flags[hidden.masked] = True
            edge_index = masking.masked_edges(kernels.adjacency(edge_index, x.size(0)), flags)
        read = self._read(hidden, edge_index)
        code = self._encode(x, edge_index, hidden, read)  # 2
        code, nodes = self._remask(self._cross(code), hidden, read)  # 3
        prediction, target = self._decode(code, nodes, edge_index, hidden, x)  # 4
        return self.loss(prediction, target)  # 5

    def reconstruct(self, x: Tensor, edge_index: Tensor | Adjacency, masked: Tensor) -> Tensor:
        """What the decoder says of the nodes `masked` [M] while their features are hidden: [M, features]."""
        flags = torch.zeros(x.size(0), dtype=torch.bool, device=x.device)
        flags[masked] = True
        none = masked[:0]
        hidden = MaskedNodes(masked, (~flags).nonzero().flatten(), masked, none, none, none)
        code = self._cross(self._encode(x, edge_index, hidden, None))
        if self.decoder.wants_remask and self.remask.kind != "none":
            code = torch.where(flags.unsqueeze(1), 0.0 if self.remask.token is None else self.remask.token, code)
        edges = edge_index if getattr(self.decoder, "takes_adjacency", False) else _plain(edge_index)
        return self.decoder(code, edges, rows=masked)

    def _padded_loss(self, x: Tensor, graph: Adjacency, batch: Tensor) -> Tensor:
        """The same five steps over fixed shapes: flags instead of lists of nodes, every node through every layer."""
        assert isinstance(self.mask, masking.RandomNodeMask) and graph.sizes is not None
        hidden = self.mask.draw_padded(batch, graph.sizes, graph.starts, graph.largest)  # 1
        if self.mask_edges:
            graph = masking.masked_edges(graph, hidden.masked)
        treat = partial(hidden.apply, token=self.mask_token)
        thinned = masking.thinned(graph, self.drop_edge)
        code = self.encoder(x, thinned, mask=treat) if self.masks_embeddings else self.encoder(treat(x), thinned)  # 2
        code = self._cross(code)
        flag = hidden.masked.unsqueeze(1)
        if self.decoder.wants_remask and self.remask.kind != "none":  # 3
            code = torch.where(flag, 0.0 if self.remask.token is None else self.remask.token, code)
        prediction = self.decoder(code, graph, rows=None)  # 4
        return self.loss(prediction, torch.where(flag, self._target(x), 0.0))  # 5

    def _cross(self, code: Tensor) -> Tensor:
        """From the encoder's space to the decoder's."""
        entrance = getattr(self.decoder, "entrance", None)
        return self.bridge(code if entrance is None else entrance(code))

    def _target(self, x: Tensor) -> Tensor:
        """The features that are reconstructed: all, or the first few where the decoder gives no more."""
        return x if self.decoder.out_channels == x.size(1) else x[:, : self.decoder.out_channels]

    def _read(self, hidden: MaskedNodes, edge_index: Tensor | Adjacency) -> Tensor | None:
        """The nodes whose code reaches the loss; None: all."""
        if not self.decoder.wants_remask:
            return hidden.masked if self.decoder.takes_nodes else None
        if self.remask.kind == "none":
            return None
        if self.remask.kind == "learnable" or self.decoder.looks_at_all or not self.decoder.takes_nodes:
            return hidden.visible
        adj = kernels.adjacency(edge_index, len(hidden.visible) + len(hidden.masked))
        if adj.col.is_cuda:  # there shapes must not depend on the draw
            return hidden.visible
        heard = kernels.View(adj, hidden.masked).senders
        return hidden.visible[heard[hidden.visible]]

    def _encode(self, x: Tensor, edge_index: Tensor | Adjacency, hidden: MaskedNodes, read: Tensor | None) -> Tensor:
        """Codes of the nodes that are `read`, computed from nothing but what they depend on."""
        if not isinstance(self.encoder, encoders.StackedEncoder):
            edges = masking.drop_edges(_plain(edge_index), self.drop_edge)
            code = self.encoder(hidden.apply(x, self.mask_token), edges)
            return code if read is None else code.index_select(0, read)
        options = {}
        if self.masks_embeddings:
            seen: Tensor | MaskedInput = x
            options["mask"] = partial(hidden.apply, token=self.mask_token)
        elif self.encoder.takes_masked(x.is_cuda) and not x.requires_grad:
            seen = hidden.rows_of(aligned(x), self.mask_token)
        else:
            seen = hidden.apply(x, self.mask_token)
        graph = masking.thinned(kernels.adjacency(edge_index, x.size(0)), self.drop_edge)
        if read is None or self.encoder.restricts:
            return self.encoder(seen, graph, read, **options)
        return self.encoder(seen, graph, **options).index_select(0, read)

    def _remask(self, code: Tensor, hidden: MaskedNodes, read: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The decoder's input, and the nodes its rows belong to; None: all."""
        if not self.decoder.wants_remask or self.remask.kind == "none" or read is None:
            return code, read
        compact = self.decoder.takes_nodes and not self.decoder.looks_at_all
        return self.remask(code, hidden, read, compact)

    def _decode(
        self, code: Tensor, nodes: Tensor | None, edge_index: Tensor | Adjacency, hidden: MaskedNodes, x: Tensor
    ) -> tuple[Tensor | Factored, Tensor | BagRows]:
        """What the decoder says of the masked nodes, and what they were; bags of words are not written out."""
        if nodes is None:
            edges = edge_index if getattr(self.decoder, "takes_adjacency", False) else _plain(edge_index)
            return self.decoder(code, edges, rows=hidden.masked), self._target(x)[hidden.masked]
        adj = kernels.adjacency(edge_index, x.size(0))
        whole = self.decoder.out_channels == x.size(1)
        if whole and getattr(self.loss, "takes_factored", False) and isinstance(self.decoder, decoders.GAT):
            bags, wide = bags_of(x), aligned(x)
            short = bags is not None or wide is not x
            factored = self.decoder.factored(code, adj, hidden.masked, nodes) if short else None
            if factored is not None and bags is not None:
                return factored, BagRows(bags, hidden.masked)
            if factored is not None:
                return factored.dense(wide.size(1)), wide.index_select(0, hidden.masked)
        return self.decoder(code, adj, rows=hidden.masked, nodes=nodes), self._target(x)[hidden.masked]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and a model card; `from_pretrained(folder)` gives the model back."""
        from .pretrained import save

        save(self, folder)

    @classmethod
    def from_pretrained(cls, place: str | Path) -> GraphMAE:
        """A saved model: a folder, the name of one that comes with graphmae, or hf:OWNER/NAME."""
        from .pretrained import load

        return load(place)

    def push_to_hub(self, name: str, private: bool = False) -> str:
        """Upload to the Hugging Face hub as OWNER/NAME; returns the address."""
        import tempfile

        from .pretrained import save, to_hub

        with tempfile.TemporaryDirectory() as folder:
            return to_hub(save(self, folder), name, private)


def _plain(edges: Tensor | Adjacency) -> Tensor:
    return edges if isinstance(edges, Tensor) else edges.edge_index


def build(recipe: Recipe, in_channels: int, target_channels: int | None = None) -> GraphMAE:
    """The model a recipe describes, for features of this width, of which the first `target_channels` (None: all) are
    reconstructed."""
    encoder = encoders.build(recipe.encoder.name, in_channels=in_channels, **recipe.encoder.options)
    hidden = getattr(encoder, "hidden_channels", encoder.out_channels)
    decoder = decoders.build(
        recipe.decoder.name, in_channels=hidden, out_channels=target_channels or in_channels, **recipe.decoder.options
    )
    return GraphMAE(
        encoder,
        decoder,
        mask=masking.build(recipe.mask.name, **recipe.mask.options),
        loss=losses.build(recipe.loss.name, **recipe.loss.options),
        remask=recipe.remask,
        drop_edge=recipe.drop_edge,
        mask_edges=recipe.mask_edges,
    )


def rehearse(network: GraphMAE) -> None:
    """One loss on a graph of four nodes: a part of the user's own that cannot work is refused before training."""
    x = torch.eye(4, int(network.encoder.in_channels), device=network.mask_token.device)  # type: ignore[arg-type]
    edge_index: Tensor | Adjacency = torch.tensor([[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 1, 0]], device=x.device)
    if width := max(getattr(part, "edge_channels", 0) for part in (network.encoder, network.decoder)):
        edge_index = kernels.adjacency(edge_index, 4)
        edge_index.edge_sums = torch.ones(4, width, device=x.device)
        edge_index.edge_codes = torch.zeros(6, dtype=torch.uint8, device=x.device)
        edge_index.edge_table = torch.ones(2, width, device=x.device)
    was_training = network.training
    try:
        with torch.no_grad(), preserved_randomness():
            network.eval()
            edges = edge_index if getattr(network.encoder, "takes_adjacency", False) else _plain(edge_index)
            found, promised = tuple(network.encoder(x, edges).shape), (4, network.encoder.out_channels)
            if found != promised:
                raise ConfigError(f"the encoder gives {found} for four nodes; its out_channels promises {promised}")
            network(x, edge_index)
    except ConfigError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
        raise ConfigError(f"the model fails on a graph of four nodes: {reason}") from error
    finally:
        network.train(was_training)


def check(recipe: Recipe) -> None:
    """Make every part once, without memory or data, so that a wrong value is refused before anything runs."""
    problems = []
    width = 8
    for make in (
        lambda: masking.build(recipe.mask.name, **recipe.mask.options),
        lambda: losses.build(recipe.loss.name, **recipe.loss.options),
        lambda: encoders.build(recipe.encoder.name, in_channels=width, **recipe.encoder.options),
        lambda: decoders.build(recipe.decoder.name, in_channels=width, out_channels=width, **recipe.decoder.options),
    ):
        try:
            with torch.device("meta"):
                make()
        except ConfigError as error:
            problems += error.problems
        except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
            problems.append(f"{type(error).__name__}: {error}")
    if problems:
        raise ConfigError(problems, recipe.id)
