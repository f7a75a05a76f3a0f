"""Build the reference pages from the code: click's options for the commands, docstrings for the library."""

import re
from typing import Any

import click

from tagmix.cli import VERBS, tagmix

MARK = "<!-- commands -->"  # the place in docs/reference/commands.md
PARAMETER = re.compile(r"^(\w[\w, ]*) : (.+)$")


def commands() -> str:
    """Return every command with its help text, arguments and options, as Markdown."""
    context = click.Context(tagmix, info_name="tagmix")
    return "\n\n".join(_command(context, verb) for verb in VERBS)


def _command(parent: click.Context, verb: str) -> str:
    group = parent.command
    assert isinstance(group, click.Group)
    command = group.get_command(parent, verb)
    assert command is not None
    context = click.Context(command, info_name=verb, parent=parent)
    words = context.command_path
    usage = " ".join([words, *command.collect_usage_pieces(context)])
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    options = [f"`{names}`\n: {text}" for names, text in filter(None, records) if text]
    head = f"{'#' * len(words.split())} {words.partition(' ')[2]}"
    parts = [head, f"```text\n{usage}\n```", _prose(command.help or ""), *options]
    inner = command.list_commands(context) if isinstance(command, click.Group) else []
    return "\n\n".join([*parts, *(_command(context, name) for name in inner)])


def _prose(text: str) -> str:
    """Return click's help text as Markdown; paragraphs that click does not wrap keep their lines."""
    paragraphs = []
    for paragraph in text.replace("\f", "").split("\n\n"):
        kept = paragraph.startswith("\b\n")
        paragraphs.append(f"```text\n{paragraph[2:]}\n```" if kept else paragraph)
    return "\n\n".join(paragraphs)


def insert_commands(_: Any, page: str, source: list[str]) -> None:
    """Put the commands into their page as Sphinx reads it, so that no copy can go stale."""
    if page == "reference/commands":
        source[0] = source[0].replace(MARK, commands())


def skip_foreign(_: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from outside tagmix, such as scikit-learn's ``set_fit_request``."""
    function = getattr(member, "fget", member)
    home = str(getattr(function, "__module__", "") or "")
    return True if what == "class" and home and not home.startswith("tagmix") else None


def describe_parameters(_: Any, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Move a parameter's description out of the place of its type, where one sentence follows the colon."""
    at = 0
    while at < len(lines):
        found = PARAMETER.match(lines[at])
        follows = lines[at + 1] if at + 1 < len(lines) else ""
        typed = follows.startswith("    ") and (follows.strip()[0].isupper() and not found_sentence(found))
        if found and not typed:
            lines[at : at + 1] = [found[1], f"    {found[2]}"]
        at += 1


def found_sentence(found: re.Match[str] | None) -> bool:
    """Return whether the text after the colon is a sentence rather than a type."""
    return bool(found and found[2].endswith((".", ",", ";", ":", ")")) and "optional" not in found[2])


def setup(app: Any) -> dict[str, Any]:
    """Connect these to Sphinx; the parameters before napoleon reads them."""
    app.connect("source-read", insert_commands)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", describe_parameters, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
