"""Named parts. A part is a class or function registered under a kebab-case name; a clash raises.

The options of a part are the keyword parameters of its constructor: that is what recipes are checked against.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from .runtime.errors import ConfigError, InputError, unknown
from .runtime.values import mismatch

T = TypeVar("T")
P = TypeVar("P", bound=Callable[..., Any])

# Recipe section → module whose import fills the registry of that kind.
PART_MODULES = {
    "mask": "graphmae.masking",
    "encoder": "graphmae.encoders",
    "decoder": "graphmae.decoders",
    "loss": "graphmae.losses",
    "data": "graphmae.data.open",
    "method": "graphmae.methods",
}
_REGISTRIES: dict[str, Registry[Any]] = {}


class Registry(Generic[T]):
    """A table from names to parts of one kind.

    >>> encoders = Registry[object]("example")
    >>> @encoders.register("sage")
    ... class Sage:
    ...     def __init__(self, in_channels: int, depth: int = 2) -> None: ...
    >>> encoders.names()
    ['sage']
    """

    def __init__(self, kind: str, supplied: Iterable[str] = ()) -> None:
        self.kind = kind
        self.supplied = frozenset(supplied)  # parameters the model fills in, never a recipe
        self._parts: dict[str, Callable[..., T]] = {}
        self._entry_points_loaded = False
        _REGISTRIES[kind] = self

    def register(self, name: str) -> Callable[[P], P]:
        """Decorator: make a class available under `name`, in recipes and in checkpoints."""
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            raise ConfigError(f"{self.kind} name {name!r} must be kebab-case, for example 'my-{self.kind}'")

        def add(part: P) -> P:
            taken = self._parts.get(name)
            if taken is not None and not _same_definition(taken, part):
                raise ConfigError(f"{self.kind} {name!r} is already registered by {taken.__module__}")
            if isinstance(part, type):
                _remember_arguments(part, name)
            self._parts[name] = part
            return part

        return add

    def names(self) -> list[str]:
        self._load_entry_points()
        return sorted(self._parts)

    def get(self, name: str) -> Callable[..., T]:
        self._load_entry_points()
        if name not in self._parts:
            raise ConfigError(unknown(self.kind, name, self._parts))
        return self._parts[name]

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """The parameters a recipe may set for this part."""
        parameters = inspect.signature(self.get(name)).parameters
        keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {k: p for k, p in parameters.items() if p.kind in keyword and k not in self.supplied}

    def takes(self, name: str) -> frozenset[str]:
        """Which of the supplied parameters this part has."""
        return self.supplied & inspect.signature(self.get(name)).parameters.keys()

    def problems(self, name: str, options: Mapping[str, Any]) -> list[str]:
        """Everything wrong with these options, in words; empty when they fit the constructor."""
        try:
            allowed = self.options(name)
        except ConfigError as error:
            return error.problems
        others = [] if _takes_any_keyword(self.get(name)) else [key for key in options if key not in allowed]
        found = [unknown(f"{self.kind} option", key, allowed) for key in others]
        hints = _hints(self.get(name))
        for key in options.keys() & allowed.keys() & hints.keys():
            if wrong := mismatch(options[key], hints[key]):
                found.append(f"{self.kind}.{key} {wrong}")
        missing = [k for k, p in allowed.items() if p.default is inspect.Parameter.empty and k not in options]
        return found + [f"{self.kind} {name!r} needs the option {key!r}" for key in missing]

    def wrong_types(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        """Arguments read from a file, those a model fills in among them, that are not of their annotated types."""
        hints = _hints(self.get(name))
        checked = {key: mismatch(value, hints[key]) for key, value in arguments.items() if key in hints}
        return [f"{self.kind}.{key} {wrong}" for key, wrong in checked.items() if wrong]

    def build(self, name: str, **arguments: Any) -> T:
        """Make the part; wrong option names are refused with a suggestion."""
        found = self.problems(name, {k: v for k, v in arguments.items() if k not in self.supplied})
        if found:
            raise ConfigError(found)
        return self.get(name)(**arguments)

    def _load_entry_points(self) -> None:
        if self._entry_points_loaded:
            return
        self._entry_points_loaded = True
        for point in metadata.entry_points(group=f"graphmae.{self.kind}"):
            if point.name not in self._parts:
                self.register(point.name)(point.load())


def find_registry(kind: str) -> Registry[Any]:
    """The registry of a recipe section, importing its package on first use."""
    if kind in PART_MODULES:  # the registry may be there before its parts are
        importlib.import_module(PART_MODULES[kind])
    return _REGISTRIES[kind]


def _takes_any_keyword(part: Callable[..., Any]) -> bool:
    """Whether a part hands on `**kwargs`, as PyG's models do. Torch's own constructor has them only to refuse them."""
    if getattr(part, "has_no_constructor", False):
        return False
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(part).parameters.values())


def arguments_of(part: object) -> tuple[str, dict[str, Any]]:
    """The registered name of a part and the arguments it was made with, to store and rebuild it."""
    name = getattr(type(part), "registered_name", None)
    arguments = getattr(part, "_arguments", None)
    if name is None or arguments is None or getattr(part, "_arguments_of", None) is not type(part):
        raise ConfigError(
            f"{type(part).__name__} is not registered, so a checkpoint could not rebuild it; "
            "put @graphmae.encoders.register('my-name') (or decoders, masking, losses, methods) on the class"
        )
    if "name" in arguments or (unnamed := [key for key in arguments if key.startswith("*")]):
        problem = (
            "an option called 'name'" if "name" in arguments else f"arguments that have no name (those of {unnamed[0]})"
        )
        raise ConfigError(f"{name!r} was made with {problem}, so a checkpoint could not rebuild it")
    return name, dict(arguments)


def _hints(part: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of a constructor; none where they name something that cannot be resolved."""
    try:
        return get_type_hints(part.__init__ if isinstance(part, type) else part)  # type: ignore[misc]
    except NameError:
        return {}


def _same_definition(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
    """The same source registered twice (a notebook cell run again, a module reloaded) is not a clash."""
    return (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def _remember_arguments(cls: type, name: str) -> None:
    """Let instances of `cls` keep their constructor arguments, defaults included."""
    original = cls.__init__  # type: ignore[misc]
    signature = inspect.signature(original)
    if "has_no_constructor" not in vars(cls):
        owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
        cls.has_no_constructor = owner.__module__ == "torch.nn.modules.module"  # type: ignore[attr-defined]

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is cls:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            arguments: dict[str, Any] = {}
            for key, value in list(bound.arguments.items())[1:]:
                kind = signature.parameters[key].kind
                if kind is inspect.Parameter.VAR_KEYWORD:
                    arguments |= value
                elif kind is not inspect.Parameter.VAR_POSITIONAL:
                    arguments[key] = value
                elif value:
                    arguments[f"*{key}"] = value
            object.__setattr__(self, "_arguments", arguments)
            object.__setattr__(self, "_arguments_of", cls)
        original(self, *args, **kwargs)

    cls.__init__ = init  # type: ignore[misc]
    cls.registered_name = name  # type: ignore[attr-defined]


IMPORTED: dict[str, bytes] = {}  # what `import_parts` has read in this process: file or module → its source


def imported_digests() -> dict[str, str]:
    """File or module that `import_parts` has read → sha256 of its source."""
    return {name: hashlib.sha256(text).hexdigest() for name, text in IMPORTED.items()}


def import_parts(sources: Iterable[str]) -> None:
    """Run the user's files or modules, whose decorators register parts."""
    for source in sources:
        path = Path(source)
        try:
            if path.suffix == ".py":
                spec = importlib.util.spec_from_file_location(path.stem, path)
                if spec is None or spec.loader is None or not path.is_file():
                    raise InputError(f"--import: no file {source!r}")
                module = importlib.util.module_from_spec(spec)
                sys.modules[path.stem] = module
                text = path.read_bytes()
                spec.loader.exec_module(module)
                IMPORTED[path.name] = text
            else:
                module = importlib.import_module(source)
                if (module.__file__ or "").endswith(".py"):
                    IMPORTED[source] = Path(str(module.__file__)).read_bytes()
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # whatever the user's file does wrong
            raise InputError(f"--import {source!r} failed: {type(error).__name__}: {error}") from None
