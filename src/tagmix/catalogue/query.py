"""The language of searches: ``boat -night``, ``tag:"red kite" OR tag:buzzard path:2019/``.

Terms side by side must all hold; ``OR`` joins its two neighbours; ``-`` before a term negates it. There are
no brackets: any question can be written as such a list of alternatives.
"""

from typing import NamedTuple

from tagmix.errors import CatalogueError, printable

# What may stand before a colon, and the answers it takes; empty: any text.
KEYS: dict[str, tuple[str, ...]] = {
    "tag": (),
    "no": (),
    "path": (),
    "source": ("human", "metadata", "machine"),
    "reviewed": ("yes", "no"),
    "tagged": ("yes", "no"),
    "missing": ("yes", "no"),
}
# Longer questions are mistakes, such as the content of a file.
LONGEST, MOST_TERMS = 10_000, 200
OR = "OR"


class Term(NamedTuple):
    """One term: ``key:value``, negated or not, and its column, from 1, for messages."""

    key: str
    value: str
    negated: bool
    column: int


def wrong(column: int, reason: str) -> CatalogueError:
    """Return the error of a search that is wrong at a column."""
    return CatalogueError(f"the search is wrong at column {column}: {reason}" + "." * (reason[-1] != "?"))


def parse(text: str) -> list[list[Term]]:
    """Return the alternatives that must all hold, each a list of terms of which one must hold.

    >>> [[(term.key, term.value, term.negated) for term in one] for one in parse('boat OR ship -"at night"')]
    [[('tag', 'boat', False), ('tag', 'ship', False)], [('tag', 'at night', True)]]
    """
    if len(text) > LONGEST:
        raise wrong(LONGEST, f"it is longer than {LONGEST:,} characters; shorten it")
    groups: list[list[Term]] = []
    position, joins = 0, 0  # joins: the column of an OR that waits for its second term
    while (position := _skip_spaces(text, position)) < len(text):
        column = position + 1
        term, position = _term(text, position)
        if term is None:
            if joins or not groups:
                raise wrong(column, "OR stands between two terms; quote it if it is a tag")
            joins = column
        elif joins:
            groups[-1].append(term)
            joins = 0
        else:
            groups.append([term])
    if joins:
        raise wrong(joins, "OR stands between two terms; quote it if it is a tag")
    if sum(map(len, groups)) > MOST_TERMS:
        raise wrong(len(text), f"it has more than {MOST_TERMS} terms; shorten it")
    return groups


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _term(text: str, position: int) -> tuple[Term | None, int]:
    column = position + 1
    negated = text[position] == "-"
    position += negated
    key, quoted = "tag", text[position : position + 1] == '"'
    value, end = _word(text, position)
    if not quoted and not negated and value == OR:
        return None, end
    if not quoted and ":" in value:
        key, _, value = value.partition(":")
        _check_key(key, column + negated)
        if not value and text[end : end + 1] == '"':
            value, end = _word(text, end)
    _check_value(key, value, column)
    return Term(key, value, negated, column), end


def _word(text: str, position: int) -> tuple[str, int]:
    """Return a word or quoted text, and where it ends; a word ends before a quote that follows a colon."""
    if text[position : position + 1] == '"':
        return _quoted(text, position)
    end = position
    while end < len(text) and not text[end].isspace() and not (text[end] == '"' and text[end - 1] == ":"):
        end += 1
    return text[position:end], end


def _quoted(text: str, start: int) -> tuple[str, int]:
    found, position = [], start + 1
    while position < len(text) and text[position] != '"':
        position += text[position] == "\\" and text[position + 1 : position + 2] in ('"', "\\")
        found.append(text[position])
        position += 1
    if position >= len(text):
        raise wrong(start + 1, "the quote is not closed; add another")
    if position + 1 < len(text) and not text[position + 1].isspace():
        raise wrong(position + 2, "a space must follow a closing quote")
    return "".join(found), position + 1


def _check_key(key: str, column: int) -> None:
    if key not in KEYS:
        raise wrong(
            column,
            f"{printable(repr(key)):.50} is none of {', '.join(KEYS)}; quote a name that has a colon",
        )


def _check_value(key: str, value: str, column: int) -> None:
    if not value.strip():
        raise wrong(column, "a name or a value is missing")
    if KEYS[key] and value not in KEYS[key]:
        choices = ", ".join(KEYS[key])
        raise wrong(column, f"{key} must be {choices}, got {printable(repr(value)):.50}")
