"""One server and one set of undisturbed runs for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from reliability.harness import Server, Undisturbed, contents, works


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def undisturbed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Undisturbed]:
    """Of a kind of work: its command line, its operations on files, and what it leaves when nothing happens."""
    folder = tmp_path_factory.mktemp("undisturbed")
    known = works(folder / "works")

    @cache
    def of(name: str) -> Undisturbed:
        if name in ("molecule", "finetune"):
            pytest.importorskip("rdkit", reason="RDKit is not installed")
        if name == "finetune" and not (folder / "works/checkpoint").exists():
            assert server.run(known["molecule"], folder / "works/checkpoint") == 0, server.log.read_text()
        operations = server.operations(known[name], folder / name)
        return known[name], operations, contents(folder / name)

    return of
