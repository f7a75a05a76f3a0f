"""The exit statuses of every command; docs/guide/commands.md has the same table."""

from enum import IntEnum

from tagmix.interrupts import status_of


class Exit(IntEnum):
    """Why a command ended; each with a line for the documents."""

    about: str

    def __new__(cls, value: int, about: str) -> "Exit":
        """Return the status with its description."""
        own = int.__new__(cls, value)
        own._value_ = value
        own.about = about
        return own

    DONE = 0, "Everything was done."
    FAILED = 1, "An error, in one line on stderr; or some photos had problems, and all others are done."
    WRONG_CALL = 2, "A wrong call: an unknown command or option, a missing or impossible value."
    INTERRUPTED = (
        status_of(2),
        "Interrupted by Ctrl-C (SIGINT). No partial files; run the same command to resume.",
    )
    CLOSED = (
        141,
        "The program that reads the output ended first, as `head` does; nothing is printed.",
    )
    TERMINATED = status_of(15), "Ended by SIGTERM, as at a shutdown; as after Ctrl-C."
