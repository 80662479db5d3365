"""Self-supervised methods: what is learned, and how a recipe becomes a model.

Register your own with `@graphmae.methods.register("my-method")`.
"""

from .base import REGISTRY, Method, kinds_of_data, learns_from
from .bgrl import BGRL
from .build import build, check, rehearse
from .cca_ssg import CCASSG
from .context_pred import ContextPred
from .dgi import DGI
from .gae import GAE
from .grace import GRACE
from .graphcl import GraphCL
from .graphmae import GraphMAE
from .graphmae2 import GraphMAE2
from .graphmae_fast import remember_steps
from .infograph import InfoGraph
from .infomax import Infomax
from .joint import Joint
from .maskgae import MaskGAE
from .mvgrl import MVGRL
from .neighbourhood import NeighbourhoodMAE

register, names = REGISTRY.register, REGISTRY.names
remember_steps(GraphMAE)

__all__ = [
    "BGRL",
    "CCASSG",
    "DGI",
    "GAE",
    "GRACE",
    "MVGRL",
    "REGISTRY",
    "ContextPred",
    "GraphCL",
    "GraphMAE",
    "GraphMAE2",
    "InfoGraph",
    "Infomax",
    "Joint",
    "MaskGAE",
    "Method",
    "NeighbourhoodMAE",
    "build",
    "check",
    "kinds_of_data",
    "learns_from",
    "names",
    "register",
    "rehearse",
]
