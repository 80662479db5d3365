"""What the names of columns say: which one holds ids, which two are the ends of an edge, which are of two sets."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

ID_NAMES = ("id", "node_id", "nodeid", "node", "key", "uid", "uuid", "index", "name")
ID_WORDS = {
    "id",
    "ids",
    "nr",
    "no",
    "key",
    "code",
    "index",
    "idx",
    "uid",
    "uuid",
    "guid",
    "name",
    "sku",
    "isbn",
    "doi",
    "ssn",
    "iban",
}
# What ids are of, in names such as user_1 and user_2; other words, such as score_1 and score_2, name no nodes.
THINGS = {
    "account", "actor", "airport", "article", "atom", "author", "bank", "book", "city", "company", "concept", "country",
    "customer", "device", "document", "domain", "drug", "employee", "entity", "gene", "host", "ip", "item", "location",
    "member", "molecule", "movie", "node", "page", "paper", "patient", "person", "phone", "place", "player", "post",
    "product", "protein", "residue", "server", "site", "station", "stop", "student", "supplier", "team", "url", "user",
    "vertex", "word",
}  # fmt: skip
# The two ends of an edge, where an edge comes from first.
ENDS = (
    ("source", "target"), ("src", "dst"), ("src", "dest"), ("src", "target"), ("source", "dest"),
    ("source", "destination"), ("origin", "destination"), ("origin", "dest"), ("citing", "cited"), ("citer", "cited"),
    ("follower", "followee"), ("follower", "followed"), ("follower", "following"), ("sender", "receiver"),
    ("sender", "recipient"), ("parent", "child"), ("caller", "callee"), ("subject", "object"), ("ego", "alter"),
    ("buyer", "seller"), ("payer", "payee"), ("borrower", "lender"), ("writer", "reader"), ("employee", "manager"),
    ("winner", "loser"),
    ("person", "friend"), ("user", "friend"), ("node", "neighbor"), ("node", "neighbour"), ("quelle", "ziel"),
)  # fmt: skip
# As well, where these words have no other meaning beside a column of ids: from and to may be two days.
OFTEN_ENDS = (
    ("from", "to"), ("head", "tail"), ("start", "end"), ("left", "right"), ("first", "second"), ("u", "v"),
    ("von", "nach"),
)  # fmt: skip
LETTERS = (("i", "j"), ("s", "t"), ("p", "q"), ("a", "b"))  # ends where both columns hold ids
PLAIN = {"source", "target", "src", "dst", "from", "to", "1", "2"}  # ends that need not be told
NUMBERED = (("1", "2"), ("0", "1"), ("a", "b"), ("", "2"))
# A second end that says how its node is related to the first: user_id and followed_id, employee_id and reports_to.
RELATED = {
    "neighbor", "neighbour", "friend", "reports to", "replies to", "refers to", "links to", "points to", "connects to",
}  # fmt: skip
RELATED_IDS = RELATED | {  # as well, where both are called ids: follows alone may be a count
    "blocked", "blocks", "cited", "cites", "followed", "follows", "invited", "knows", "linked", "mentioned",
    "referenced", "referred", "related", "trusted", "trusts",
}  # fmt: skip
ROLES = ("er", "or"), ("ee", "ed")  # what one end does and the other has done to it: inviter and invitee
MOST_COLUMNS = 64  # that are looked at for two ends


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters.

    >>> words_of("FromNodeId"), words_of("user_ID 2"), words_of("userid1")
    (('from', 'node', 'id'), ('user', 'id', '2'), ('user', 'id', '1'))
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)", "_", name.strip()).lower()
    words: list[str] = []
    for word in filter(None, re.split(r"[\W_]+", apart)):
        of = word.removesuffix("id")
        words += [of, "id"] if word != of and (of in THINGS or any(of in pair for pair in ENDS)) else [word]
    return tuple(words)


def guess_id(names: Sequence[str]) -> str | None:
    """The column that is obviously the nodes' id, by its name."""
    lowered = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    for wanted in ID_NAMES:
        if wanted in lowered:
            return lowered[wanted]
    ending = [name for name in names if name.strip().lower().endswith(("_id", " id"))]
    return ending[0] if len(ending) == 1 else None


def is_called_id(name: str, things: Collection[str] = ()) -> bool:
    """Whether the name says that the column holds ids: user_id, id_user, nr, or a thing alone, such as user."""
    words = words_of(name)
    return bool(words) and (bool({words[0], words[-1]} & ID_WORDS) or set(words) <= THINGS | set(things))


def is_called_number_of_thing(name: str) -> bool:
    """Whether whole numbers under this name only tell things apart: account_id, account_number, isbn."""
    *before, last = words_of(name) or ("",)
    if {*before[:1], last} & {"id", "uid", "uuid", "guid"}:
        return True
    is_counter = last in ("number", "num")
    return (last in ID_WORDS or (is_counter and bool(before))) and set(before) <= THINGS - {"page"}


def guess_ends(names: Sequence[str], things: Collection[str] = (), hold_ids: bool = False) -> tuple[str, str] | None:
    """The two columns that are an edge's ends by their names, if those of two columns alone say so.

    `things` are words for what the nodes are, beside the usual ones. Where these columns `hold_ids`, less is asked of
    the names of two of them, if no other one is a letter or called an id.

    >>> guess_ends(["day", "to_user", "from_user"]), guess_ends(["user_id", "item_id"])
    (('from_user', 'to_user'), None)
    """
    return _guess_ends(tuple(names[:MOST_COLUMNS]), frozenset(things), hold_ids)


@lru_cache(256)
def _guess_ends(names: tuple[str, ...], things: frozenset[str], hold_ids: bool) -> tuple[str, str] | None:
    known = THINGS | things
    words = [(name, words_of(name)) for name in names]
    for pairs in (ENDS, ENDS + OFTEN_ENDS, ENDS + OFTEN_ENDS + LETTERS)[: 2 + hold_ids]:
        found = [
            (one, other)
            for one, first in words
            for other, second in words
            if one != other and _are_ends(first, second, known, pairs)
        ]
        if (
            found
            and pairs[-1] == LETTERS[-1]
            and any(len(name) == 1 or is_called_id(name) for name in names if name not in found[0])
        ):
            return None
        if found:
            return found[0] if len(found) == 1 else None
    return None


def guess_related_ends(names: Sequence[str], id_name: str) -> tuple[str, str] | None:
    """The two columns whose names say that they are nodes of one set, and how they are related, if only two do.

    `id_name` is the node table's id column: where it says what the nodes are, the first end is one of these.

    >>> guess_related_ends(["user_id", "follows_user_id"], "id"), guess_related_ends(["user_id", "item_id"], "id")
    (('user_id', 'follows_user_id'), None)
    """
    nodes_are = {*_without_ids(words_of(id_name))}
    likely = names[:MOST_COLUMNS]
    found = [(one, other) for one in likely for other in likely if one != other and _are_related(one, other)]
    if nodes_are:
        found = [
            (one, other) for one, other in found if nodes_are & {*words_of(one)} or not _without_ids(words_of(one))
        ]
    return found[0] if len(found) == 1 else None


def _are_related(one: str, other: str) -> bool:
    """Whether the second name is the first with a word before it, or a relation of what the first one is."""
    both_ids = all({*words_of(name)} & ID_WORDS for name in (one, other))
    first, second = (_without_ids(words_of(name)) for name in (one, other))
    if not set(first) <= THINGS and not both_ids:
        return False
    if first and len(second) == len(first) + 1 and second[1:] == first:
        return both_ids or not {*words_of(one)} & ID_WORDS
    if len(first) == 1 and second == (f"co{first[0]}",):
        return True
    return bool(words_of(one)) and " ".join(second) in (RELATED_IDS if both_ids else RELATED)


def _without_ids(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in ID_WORDS and word != "node")


def have_another_meaning(ends: tuple[str, str]) -> bool:
    """Whether the two names may mean something else beside a column of ids: start and end, unless they are ids."""
    first, second = map(words_of, ends)
    return not _are_ends(first, second, THINGS, ENDS)


def are_plain(ends: tuple[str, str]) -> bool:
    """Whether nobody need be told that these are ends: source and target."""
    return all({*words_of(name)} & PLAIN for name in ends)


def are_two_sets(one: str, other: str) -> bool:
    """Whether the names say that the ids are of different things: user_id and item_id."""
    first, second = map(words_of, (one, other))
    if guess_ends((one, other), (), True) or guess_related_ends((one, other), ""):
        return False
    both_ids = bool({*first} & ID_WORDS) and bool({*second} & ID_WORDS)
    things, more = {*_without_ids(first)}, {*_without_ids(second)}
    return bool(things and more) and not things & more and (both_ids or things | more <= THINGS)


def _are_ends(
    first: tuple[str, ...], second: tuple[str, ...], known: Collection[str], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Whether these are the names of the source and of the target: they differ in one of the `pairs`, or in a number,
    and what they have in common is among the `known` things."""
    both_ids = bool(set(first) & ID_WORDS) and bool(set(second) & ID_WORDS)
    first, second = (tuple(word for word in name if word not in ID_WORDS) for name in (first, second))
    if len(second) == len(first) + 1 and second[: len(first)] == first:
        first = (*first, "")
    if len(first) != len(second):
        return False
    differing = [(one, other) for one, other in zip(first, second, strict=True) if one != other]
    if len(differing) != 1:
        return False
    pair, rest = differing[0], {one for one, other in zip(first, second, strict=True) if one == other}
    of_nodes = both_ids or (bool(rest) and rest <= set(known))
    if (pair in NUMBERED and of_nodes) or (_are_roles(*pair) and (of_nodes or not rest)):
        return True
    return (pair in pairs and (of_nodes or not rest)) or (pair in OFTEN_ENDS and of_nodes)


def _are_roles(one: str, other: str) -> bool:
    """Whether one does what is done to the other: inviter and invitee, referrer and referred."""
    doer, receiver = ROLES
    stem = one[:-2]
    return len(stem) > 2 and one[-2:] in doer and other[-2:] in receiver and other[:-2] == stem
