"""The questions of `tagmix tag --confirm`."""

import sys

import click

from tagmix.cli.annotate import percent
from tagmix.errors import ParameterError, printable
from tagmix.library.decisions import Decision, Proposal, StopAsking
from tagmix.library.events import Likely


def check_terminal() -> None:
    """Refuse in one line where there is nobody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise ParameterError(
            "--confirm asks questions and needs a terminal, but stdin is none: leave it out, or run the "
            "command by hand"
        )


def ask(proposal: Proposal) -> Decision | None:
    """Return what the person at the terminal decides; no more input ends the run."""
    has = f" (has {_listed(proposal.present)})" if proposal.present else ""
    click.echo(f"{printable(proposal.path)}: {_listed(proposal.new)}{has}", err=True)
    answer = _prompt("  [a]ll, [c]hoose, [s]kip, [q]uit", ["a", "c", "s", "q"])
    if answer == "q":
        raise StopAsking
    if answer == "s":
        return None
    if answer == "a":
        return Decision(tuple(tag for tag, _ in proposal.new))
    given = {
        tag: _prompt(f"    {printable(tag)} {percent(p)}: [y]es, [n]o, [?] leave open", ["y", "n", "?"])
        for tag, p in proposal.new
    }
    return Decision(
        tuple(tag for tag, one in given.items() if one == "y"),
        tuple(tag for tag, one in given.items() if one == "n"),
    )


def _prompt(text: str, choices: list[str]) -> str:
    try:
        found: str = click.prompt(
            text, type=click.Choice(choices, case_sensitive=False), show_choices=False, err=True
        )
    except click.Abort as stopped:
        if isinstance(stopped.__context__, EOFError):
            raise StopAsking from stopped
        raise
    return found


def _listed(likely: Likely) -> str:
    return ", ".join(f"{printable(tag)} {percent(p)}" for tag, p in likely)
