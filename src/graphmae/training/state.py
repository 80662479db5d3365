"""Everything needed to go on training as if it had never stopped: one safetensors file, written atomically."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..runtime.errors import InputError
from ..runtime.seed import random_state, restore_random_state
from ..runtime.tensors import Damaged, read_tensors, write_tensors
from .distributed import ALONE, RandomState, Ranks


class Outcome(NamedTuple):
    """How a training ended, or stands: the last loss, the seconds spent over all resumptions, the epochs."""

    loss: float
    seconds: float
    epochs: int = 0


@runtime_checkable
class Remembers(Protocol):
    """What decides how a training goes on beside its module: a hook with this is saved and restored with the state.

    `state_dict` holds tensors and JSON values.
    """

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> object: ...


class Progressed(NamedTuple):
    """Where a training stands: how many steps are done, and of an epoch that is not over, what it takes to go on.

    `losses` are those of its steps so far; `epoch_random` are the host's generators as they were when it began, from
    which the order of its batches follows. `ended`: a hook ended the training, and it does not go on.
    """

    step: int
    outcome: Outcome
    per_epoch: int = 1
    losses: Sequence[Tensor] = ()
    epoch_random: tuple[dict[str, Tensor], dict[str, Any]] | None = None
    ended: bool = False


class TrainingState:
    """Weights, optimizer, step, random generators and what hooks remember of one training, at `path`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def exists(self) -> bool:
        return self.path.is_file()

    def save(
        self,
        progressed: Progressed,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        hooks: Sequence[Remembers] = (),
        others_random: Sequence[RandomState] = (),
    ) -> None:
        """Write everything; `others_random` are the generators of rank 1, 2, … of several processes."""
        random_tensors, random_values = random_state()
        tensors = {f"model.{k}": v for k, v in module.state_dict().items()}
        tensors |= {f"random.{k}": v for k, v in random_tensors.items()}
        began: Any = None
        if progressed.losses:
            assert progressed.epoch_random is not None
            tensors |= {f"epoch.{k}": v for k, v in progressed.epoch_random[0].items()}
            tensors["losses"], began = torch.stack(list(progressed.losses)), progressed.epoch_random[1]
        state = optimizer.state_dict()
        scalars: dict[str, Any] = {}
        for index, values in state["state"].items():
            for key, value in values.items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{index}.{key}"] = value
                else:
                    scalars[f"{index}.{key}"] = value
        meta = {"step": progressed.step, "outcome": progressed.outcome, "random": random_values, "scalars": scalars}
        meta |= {"per_epoch": progressed.per_epoch, "epoch": began, "ended": progressed.ended}
        if others_random:
            meta["others"] = [values for _, values in others_random]
        for rank, (generators, _) in enumerate(others_random, start=1):
            tensors |= {f"rank.{rank}.{k}": v for k, v in generators.items()}
        remembered = [hook.state_dict() for hook in hooks]
        meta["hooks"] = [{k: v for k, v in one.items() if not isinstance(v, Tensor)} for one in remembered]
        for number, one in enumerate(remembered):
            tensors |= {f"hook.{number}.{k}": v for k, v in one.items() if isinstance(v, Tensor)}
        write_tensors(self.path, tensors, {"state": json.dumps(meta)})

    def load(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        hooks: Sequence[Remembers] = (),
        ranks: Ranks = ALONE,
    ) -> Progressed:
        """Restore everything in place; returns where training stood. Rank 0 reads the file for all.

        A state of another number of processes is gone on with; ranks that had no generators draw new numbers.
        """
        try:
            read = read_tensors(self.path, must_have_digest=True) if ranks.is_first else ({}, {})
            tensors, metadata = ranks.same(*read)
            meta = json.loads(metadata["state"])
            step, per_epoch, ended = int(meta["step"]), int(meta["per_epoch"]), bool(meta["ended"])
            remembered = list(meta["hooks"])
        except KeyError as error:
            raise InputError(
                f"{self.path} lacks {error}: it is not a training state of this version; delete it to start over"
            ) from None
        except (Damaged, TypeError, ValueError) as error:
            raise InputError(f"{self.path} is not a training state ({error}); delete it to start over") from None
        try:
            module.load_state_dict(_below("model.", tensors))
        except RuntimeError:
            raise InputError(f"{self.path} belongs to another model; delete it to start over") from None
        if len(remembered) != len(hooks):
            raise InputError(f"{self.path} belongs to another training; delete it to start over")
        try:  # whoever can write a state can write a digest
            state: dict[int, dict[str, Any]] = {}
            for name, value in [*_below("optimizer.", tensors).items(), *meta["scalars"].items()]:
                index, key = name.split(".", 1)
                state.setdefault(int(index), {})[key] = value
            # Rates and the like come from the caller; the state holds only what training has accumulated.
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
            for number, hook in enumerate(hooks):
                hook.load_state_dict({**remembered[number], **_below(f"hook.{number}.", tensors)})
            others = list(meta.get("others", ()))
            if ranks.is_first:
                restore_random_state(_below("random.", tensors), meta["random"])
            elif ranks.rank <= len(others):
                restore_random_state(_below(f"rank.{ranks.rank}.", tensors), others[ranks.rank - 1])
            losses: tuple[Tensor, ...] = ()
            if "losses" in tensors:
                losses = tensors["losses"].to(next(module.parameters()).device).unbind()
            began = (_below("epoch.", tensors), meta["epoch"]) if losses else None
            return Progressed(step, Outcome(*meta["outcome"]), per_epoch, losses, began, ended)
        except (KeyError, TypeError, ValueError, RuntimeError, IndexError, AttributeError) as error:
            raise InputError(f"{self.path} is not a training state ({error}); delete it to start over") from None

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
