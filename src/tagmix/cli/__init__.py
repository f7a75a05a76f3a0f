"""The command line: one verb, one file. Errors are one line on stderr; nothing ends in a traceback."""

import io
import os
import select
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from tagmix import __version__, interrupts
from tagmix.cli import completing
from tagmix.cli.exits import Exit
from tagmix.errors import TagmixError, printable

# Verb → what it does; the file of a verb is loaded only when it is called, so that --help is quick.
VERBS = {
    "train": "Learn words and tags from an album of captioned pictures.",
    "annotate": "Tag photos, and the regions in them, with a trained model.",
    "info": "Print the model card of a model: data, scores, settings, limits.",
    "tag": "Write tags into the sidecars of photos.",
    "watch": "Tag new photos as they arrive.",
    "undo": "Take a run of `tag` back.",
    "runs": "List the runs of `tag`, and what each did.",
    "scan": "Note photos and their keywords in the catalogue.",
    "search": "Find photos by their tags, as paths, JSON or a page.",
    "tags": "List the tags of a library; rename and merge them, set synonyms and parents.",
    "export": "Write photos with their tags as COCO, LabelMe, CSV or JSON lines.",
    "describe": "Turn an album into bags of visual words, for the Python library.",
    "evaluate": "Compare learners on an album and write a page.",
    "network": "Write a published network as ONNX and TOML, to look at or to change.",
    "reproduce": "Repeat the paper's experiments and write a page.",
    "doctor": "Check the installation, the machine, models and catalogues.",
    "completion": "Print a script for completion by Tab in bash, zsh or fish.",
    "demo": "Run all steps on a drawn album and write a page.",
}


class _Verbs(click.Group):
    about = VERBS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        with interrupts.importing():
            command = import_module(f"tagmix.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], VERBS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tagmix", message="%(prog)s %(version)s")
def tagmix() -> None:
    """Learn tags from tagged pictures, and predict the tags of new pictures and of each of their regions.

    \b
    Examples:
      tagmix demo
      tagmix train ~/Photos --model photos.tagmix
      tagmix annotate ~/New/*.jpg --model photos.tagmix
    """


def main() -> None:
    """Run a command line and leave with its exit status."""
    interrupts.take_over()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that a terminal cannot show is no error
        sys.stdout.reconfigure(errors="backslashreplace")
    instruction = os.environ.get(completing.VARIABLE)
    sys.exit(run(sys.argv[1:]) if instruction is None else _complete(instruction))


def _complete(instruction: str) -> int:
    """Answer a shell that completes; a problem must not write into the line that is being typed."""
    try:
        completing.respond(tagmix, instruction)
    except Exception:
        if "TAGMIX_DEBUG" in os.environ:
            raise
        return Exit.FAILED
    return Exit.DONE


def run(arguments: list[str]) -> int:
    """Return the exit status of a command line, one of ``Exit``; an error is one line on stderr."""
    if sys.stdout is None:
        _say("there is no place to print to: stdout must not be closed")
        return Exit.FAILED
    try:
        status = _invoke(arguments)
        sys.stdout.flush()  # or a pipe that was closed would be noticed when it is too late
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, EOFError, KeyboardInterrupt) as stopped:
        _say(interrupts.SAID)
        return interrupts.status_of(getattr(stopped, "number", 2))
    except Exception as error:
        return _failed(error)
    return int(status or Exit.DONE)


def _invoke(arguments: list[str]) -> int | None:
    """Run the verb; ``click.Command.main`` would turn a closed pipe into an error."""
    with tagmix.make_context("tagmix", list(arguments)) as context:
        return tagmix.invoke(context)


def _failed(error: Exception) -> int:
    """Say in one line what went wrong; nothing if the reader has seen enough (``tagmix … | head``)."""
    if isinstance(error, OSError) and _stdout_is_closed():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to print goes there
        return Exit.CLOSED
    if not isinstance(error, TagmixError | MemoryError | OSError) and "TAGMIX_DEBUG" in os.environ:
        raise error
    _say(_message(error))
    return Exit.FAILED


def _message(error: Exception) -> str:
    """Return what went wrong and the way out."""
    if isinstance(error, TagmixError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this: close other programs, or use fewer --jobs"
    if isinstance(error, OSError):
        return (
            f"{error.filename or 'the output'!r} cannot be used ({error.strerror or error}): check the path, "
            "its permissions and the space left"
        )
    return (
        f"unexpected error ({type(error).__name__}: {error!s:.200}): please report it with the output of "
        "`tagmix doctor`, and of this command with TAGMIX_DEBUG=1"
    )


def _stdout_is_closed() -> bool:
    """Return whether stdout is a pipe that nobody reads: a worker's broken pipe is another matter."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # Windows has no poll, a test no file
        return False


def _say(text: str) -> None:
    click.echo(f"tagmix: {printable(' '.join(text.split()))}", err=True)
