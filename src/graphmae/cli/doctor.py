"""graphmae doctor"""

from __future__ import annotations

import typer

from .options import DataRoot, Json, print_json


def doctor(data: DataRoot = None, json_: Json = False) -> None:
    """Versions, devices, optional parts and the data that was found."""
    from .. import api

    found = api.doctor(data)
    if json_:
        print_json(found)
        return
    for number, section in enumerate(found.values()):
        if number:
            typer.echo("")
        for name, value in section.items():
            typer.echo(f"{name:16} {value}")
