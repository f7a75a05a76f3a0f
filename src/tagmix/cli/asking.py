"""Questions on the terminal, for verbs with an option such as ``--confirm``."""

import sys
from enum import Enum

import click

from tagmix.errors import ParameterError, printable


class Answer(Enum):
    """What a person decides on one thing: do it, leave it, or stop here."""

    YES = "yes"
    NO = "no"
    QUIT = "quit"


CHOICES = "[y]es, [n]o, [a]ll, [q]uit"
WORDS = {"y": "yes", "n": "no", "a": "all", "q": "quit"}


class Asker:
    """Ask one question after another; "all" answers this and all later ones with yes, without asking.

    Questions go to stderr, so that stdout can go to a file. The end of the input (Ctrl-D) means quit; Ctrl-C
    interrupts the command as always.

    ::

        asker = Asker("--confirm")          # refuses now if there is nobody to ask
        for change in changes:
            answer = asker.ask(f"Write {shown(change)}?")
            if answer is Answer.QUIT:
                break
            if answer is Answer.YES:
                apply(change)
    """

    def __init__(self, option: str) -> None:
        """Refuse in one line where stdin is no terminal; ``option`` is named in the error."""
        self._all = False
        if sys.stdin is None or not sys.stdin.isatty():
            raise ParameterError(
                f"{option} asks questions and needs a terminal, but stdin is none: leave {option} out, or "
                "run the command by hand"
            )

    def ask(self, question: str) -> Answer:
        """Return the answer to a question; what is no answer is asked again."""
        if self._all:
            return Answer.YES
        while True:
            click.echo(f"{printable(question)} {CHOICES}: ", nl=False, err=True)
            line = sys.stdin.readline()
            if not line:
                click.echo(err=True)
                return Answer.QUIT
            word = line.strip().casefold()
            word = WORDS.get(word, word)
            if word == "all":
                self._all = True
                return Answer.YES
            if word in ("yes", "no", "quit"):
                return Answer(word)
