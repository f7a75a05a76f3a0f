"""The command line: one verb, one file. Errors are one line on stderr; nothing ends in a traceback."""

import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from tagmix import __version__
from tagmix.errors import TagmixError, printable

# Verb → what it does; the file of a verb is loaded only when it is called, so that --help is quick.
VERBS = {
    "train": "Learn words and tags from an album of captioned pictures.",
    "annotate": "Tag photos, and the regions in them, with a trained model.",
    "describe": "Turn an album into bags of visual words, for the Python library.",
    "evaluate": "Compare learners on an album and write a page.",
    "network": "Write a published network as ONNX and TOML, to look at or to change.",
    "reproduce": "Repeat the paper's experiments and write a page.",
    "demo": "Run all steps on a drawn album and write a page.",
}
STOPPED, FAILED = 130, 1


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
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
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that a terminal cannot show is no error
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Return the exit status of a command line: 0, 1 with one line on stderr, 2 for a wrong call."""
    if sys.stdout is None:
        _say("there is no place to print to: stdout must not be closed")
        return FAILED
    try:
        status = tagmix.main(arguments, prog_name="tagmix", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say(
            "stopped: nothing is half-written; what is finished is kept where there is a cache or an --out "
            "folder, and the same command goes on from there"
        )
        return STOPPED
    except Exception as error:
        return _failed(error)
    return int(status or 0)


def _failed(error: Exception) -> int:
    """Say in one line what went wrong."""
    if isinstance(error, BrokenPipeError):  # the reader has seen enough (`tagmix … | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif isinstance(error, TagmixError):
        _say(str(error))
    elif isinstance(error, MemoryError):
        _say("there is not enough memory for this: close other programs, or use fewer --jobs")
    elif isinstance(error, OSError):
        _say(
            f"{error.filename or 'the output'!r} cannot be used ({error.strerror or error}): check the path, "
            "its permissions and the space left"
        )
    elif "TAGMIX_DEBUG" in os.environ:
        raise error
    else:
        _say(
            f"this should not have happened ({type(error).__name__}: {error!s:.200}): please report it with "
            "what TAGMIX_DEBUG=1 shows"
        )
    return FAILED


def _say(text: str) -> None:
    click.echo(f"tagmix: {printable(' '.join(text.split()))}", err=True)
