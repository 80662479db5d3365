"""BGRL (Thakoor et al., ICLR 2022): predict from one view what a slowly moving teacher says of the other."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from ..layers import MLP
from .base import REGISTRY, Method
from .teacher import Teacher
from .views import check_rates, random_view


@REGISTRY.register("bgrl")
class BGRL(Method):
    """L = 2 − cos(q(h₁), h̄₂) − cos(q(h₂), h̄₁), mean over nodes; h̄ from the teacher, q an MLP.

    The teacher begins with weights of its own and follows the encoder with a momentum that rises to 1.

    >>> import torch
    >>> from graphmae import encoders
    >>> model = BGRL(encoders.GCN(64, hidden_channels=32, norm="batch", dropout=0.0))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        predictor_channels: width of q's hidden layer.
        momentum: the teacher's at the start.
        drop_edge, mask_feature: shares hidden from the first view; drop_edge_2, mask_feature_2: from the second.
    """

    fixed_shapes = True
    is_sum_of_parts = True
    tries = ("method.drop_edge=0.2,0.4", "method.mask_feature=0.2,0.4", "method.momentum=0.99,0.996")
    changes_edges = True
    of_seeds = "seeds alone are scored"
    training_only = ("teacher",)

    def __init__(
        self,
        encoder: nn.Module,
        predictor_channels: int = 512,
        momentum: float = 0.99,
        drop_edge: float = 0.2,
        drop_edge_2: float = 0.3,
        mask_feature: float = 0.2,
        mask_feature_2: float = 0.3,
    ) -> None:
        super().__init__()
        check_rates(
            drop_edge=drop_edge, drop_edge_2=drop_edge_2, mask_feature=mask_feature, mask_feature_2=mask_feature_2
        )
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.predictor = MLP(width, predictor_channels, width)
        self.teacher = Teacher(encoder, momentum, rising=True, fresh=True)
        self.rates = (drop_edge, mask_feature), (drop_edge_2, mask_feature_2)

    def prepare(self, steps: int) -> None:
        self.teacher.prepare(steps)

    def after_step(self) -> None:
        self.teacher.follow(self.encoder)

    def loss(self, batch: Batch) -> Tensor:
        views = [random_view(batch, *rates) for rates in self.rates]
        said = [self.teacher(view.x, view.edges(self.encoder)) for view in views]
        guessed = [self.predictor(self.encode(view)) for view in views]
        total = F.cosine_similarity(guessed[0], said[1]) + F.cosine_similarity(guessed[1], said[0])
        return 2 - batch.counted(total).mean()
