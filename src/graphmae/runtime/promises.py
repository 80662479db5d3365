"""What a class promises of its methods, so that a faster way may be taken, and who may still be held to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Promising:
    """A part whose attributes describe its methods: that a step can be recorded, that rows can be left out, …

    Attributes:
        promises: method → the attributes that describe it. A subclass that overrides the method does not inherit them:
            they spoke of the code it replaced. It has the default of the base class, and may make the promise again.

    >>> class Part(Promising):
    ...     promises = {"forward": ("is_fast",)}
    ...     is_fast = False
    >>> class Ours(Part):
    ...     is_fast = True
    ...     def forward(self): ...
    >>> class Theirs(Ours):
    ...     def forward(self): ...
    >>> Ours.is_fast, Theirs.is_fast
    (True, False)
    """

    promises: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for method, attributes in cls.promises.items():
            method_depths = _find_depths(cls, method)
            for name in attributes:
                attribute_depths = _find_depths(cls, name)
                if method_depths and attribute_depths and attribute_depths[0] > method_depths[0]:
                    setattr(cls, name, cls.__mro__[attribute_depths[-1]].__dict__[name])


def _find_depths(cls: type, name: str) -> list[int]:
    """Where in the order of base classes a name is defined, the nearest first."""
    return [depth for depth, base in enumerate(cls.__mro__) if name in base.__dict__]
