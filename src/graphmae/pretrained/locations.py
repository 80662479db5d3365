"""Where a checkpoint is found: a folder, a run's folder, a model that comes with graphmae, or the Hugging Face hub."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

from ..runtime.errors import InputError
from ..runtime.files import as_path
from ..runtime.structure import shown
from ..runtime.untrusted import read_object
from .contents import check_config

HUB, AUTOMATIC = "hf:", "automatic"
READABLE = (1, 2)  # formats; 1: before there were other methods than GraphMAE
FILES = ["config.json", "model.safetensors", "README.md"]


def shipped() -> list[str]:
    """Names of the models that come with graphmae."""
    return sorted(folder.name for folder in _folder().glob("*") if (folder / "config.json").is_file())


def find_checkpoint(source: str | Path) -> Path:
    """The folder of a checkpoint: the one named, the first seed of a run, a shipped model's, a downloaded one."""
    folder = as_path(source, "the folder of a model")
    if str(source).startswith(HUB):
        return from_hub(str(source).removeprefix(HUB))
    seeds = sorted(folder.glob("seed-*/config.json"), key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0))
    for candidate in (folder / "config.json", *seeds):
        if candidate.is_file():
            return candidate.parent
    if str(source) in shipped():
        return _folder() / str(source)
    for several, what in (("repeat-*", "one for every split"), ("train-*", "one for every size of the training part")):
        if found := sorted(folder.glob(f"{several}/seed-*/config.json")):
            raise InputError(f"{source} holds several models, {what}: name one of them, such as {found[0].parents[1]}")
    known = f"; with graphmae come: {', '.join(shipped())}" if shipped() and not folder.exists() else ""
    raise InputError(f"{source} is not a checkpoint: it holds no config.json (and no seed-N folder that does){known}")


def find_seeds(source: str | Path) -> list[Path]:
    """The folders of all seeds of a run, in their order; where there are none, the checkpoint's own."""
    folder = as_path(source, "the folder of a model")
    if (folder / "config.json").is_file() or str(source).startswith(HUB):
        return [find_checkpoint(source)]
    found = [path.parent for path in folder.glob("seed-*/config.json")]
    return sorted(found, key=lambda path: int(re.sub(r"\D", "", path.name) or 0)) or [find_checkpoint(source)]


def read_kind(folder: str | Path, kind: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a checkpoint and its config.json, of the wanted kind: "pretrained", or "predictor", which may also
    be an automatic one."""
    folder = find_checkpoint(folder)
    config = read_object(folder / "config.json")
    version = config.get("format")
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise InputError(f"{folder}: config.json has format {shown(version)}; this version reads {readable}")
    found = config.get("kind", "pretrained")
    if not isinstance(found, str):
        raise InputError(f"{folder}: config.json has the kind {shown(found)}, which is no name")
    wanted = (kind, AUTOMATIC) if kind == "predictor" else (kind,)
    if found not in wanted:
        what = {"pretrained": "a pre-trained model (graphmae pretrain)", "predictor": "a fine-tuned model"}
        what[AUTOMATIC] = what["predictor"]
        way = (
            "fine-tune it first: graphmae finetune"
            if kind == "predictor"
            else "name the pre-trained one, such as molecule-zinc"
        )
        raise InputError(f"{folder} holds {what.get(found, f'a {shown(found)}')}, not {what[kind]}; {way}")
    check_config(config, found, folder)
    return folder, config


def from_hub(name: str) -> Path:
    """Download OWNER/NAME from the Hugging Face hub, or take it from its cache."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise InputError("models on the hub need huggingface_hub: pip install 'graphmae[hub]'") from None
    try:
        return Path(snapshot_download(name, allow_patterns=FILES))
    except Exception as error:  # whatever the network or the hub says, it means the same to the user
        raise InputError(f"{HUB}{name} cannot be had from the hub ({type(error).__name__}: {error})") from None


def to_hub(folder: str | Path, name: str, private: bool = False) -> str:
    """Upload a checkpoint's folder as OWNER/NAME; returns its address. Needs a login (`hf auth login`)."""
    found = find_checkpoint(folder)
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise InputError("models on the hub need huggingface_hub: pip install 'graphmae[hub]'") from None
    try:
        hub = HfApi()
        address = str(hub.create_repo(name, private=private, exist_ok=True))
        hub.upload_folder(repo_id=name, folder_path=str(found), allow_patterns=FILES)
    except Exception as error:  # as above
        raise InputError(f"{name} cannot be written to the hub ({type(error).__name__}: {error})") from None
    return address


def _folder() -> Path:
    return Path(str(resources.files("graphmae"))) / "checkpoints"
