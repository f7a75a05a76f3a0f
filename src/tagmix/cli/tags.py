"""tagmix tags: the tags of a library, their names, synonyms and places among each other."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tagmix.cli.library import catalogue_option, folder_argument, shown_json, warn_if_older
from tagmix.cli.options import plural
from tagmix.errors import printable
from tagmix.library.existing import existing
from tagmix.library.vocabulary import Change, Pair, change_tags, listed, similar

F = TypeVar("F", bound=Callable[..., Any])
MOST_CONFLICTS = 10

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


class _Listing(click.Group):
    """A group that lists when its first argument is none of its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments; ``list`` unless another is named."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["list", *args])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the options of the list to it."""
        helps = {"-h", "--help"}
        return super().parse_args(
            ctx, args if args and args[0] in {*self.commands, *helps} else ["list", *args]
        )


def _changing(function: F) -> F:
    """Add what all commands that change tags have."""
    for add in (catalogue_option, dry_run, folder_argument):
        function = add(function)
    return function


@click.group("tags", cls=_Listing, short_help="list and change tags", no_args_is_help=False)
def command() -> None:
    """List the tags of the library of FOLDER with counts, or change them.

    Changes are made in the catalogue. Keywords in photos and sidecars stay as they are: an old name becomes a
    synonym of the new one, so that they still count.

    \b
    Examples:
      tagmix tags ~/Photos
      tagmix tags similar
      tagmix tags merge boats boat
      tagmix tags rename boat 'Things|boat'
      tagmix tags synonym add Kahn boat
      tagmix tags parent set boat vehicle
    """


@command.command("list")
@folder_argument
@as_json
@catalogue_option
def list_tags(folder: Path | None, as_json: bool, catalogue: Path | None) -> None:
    """List the tags with the numbers of their photos: all, and by who says so."""
    with existing(folder, catalogue) as library:
        warn_if_older(library, [])
        lines = listed(library.catalogue)
    if as_json:
        for one in lines:
            click.echo(shown_json(one._asdict()))
        return
    for one in lines:
        parts = [f"{one.photos:>8,}  {printable(one.tag)}"]
        by = {"human": one.human, "metadata": one.metadata, "machine": one.machine}
        said = ", ".join(f"{count:,} {source}" for source, count in by.items() if count)
        parts += [f"({said})"] if said else []
        parts += [f"also {', '.join(map(printable, one.synonyms))}"] if one.synonyms else []
        parts += [f"below {', '.join(map(printable, one.parents))}"] if one.parents else []
        click.echo("  ".join(parts))


@command.command("similar")
@folder_argument
@as_json
@catalogue_option
def list_similar(folder: Path | None, as_json: bool, catalogue: Path | None) -> None:
    """List pairs of tags that may mean the same, with the command that merges them."""
    with existing(folder, catalogue) as library:
        pairs = similar(library.catalogue)
    for pair in pairs:
        click.echo(shown_json(pair._asdict()) if as_json else _similar_line(pair, folder))
    if not pairs and not as_json:
        click.echo("no two tags look alike", err=True)


def _similar_line(pair: Pair, folder: Path | None) -> str:
    where = "" if folder is None else f" {shell_word(str(folder))}"
    names = f"{printable(pair.rarer)} ({pair.rarer_photos:,}), {printable(pair.tag)} ({pair.photos:,})"
    merge = f"tagmix tags merge {shell_word(pair.rarer)} {shell_word(pair.tag)}{where}"
    return f"{names}: {pair.reason}\n    {merge}"


@command.command("rename")
@click.argument("old")
@click.argument("new")
@_changing
def rename(old: str, new: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Give the tag OLD the name NEW; tags below it by name follow. OLD becomes a synonym."""
    _change(folder, catalogue, dry_run, Change("rename", old, new))


@command.command("merge")
@click.argument("tag")
@click.argument("into")
@_changing
def merge(tag: str, into: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Make one tag of TAG and INTO: photos with TAG have INTO, and TAG becomes a synonym."""
    _change(folder, catalogue, dry_run, Change("merge", tag, into))


@command.group("synonym")
def synonym() -> None:
    """Add or remove other names of tags, in searches and for keywords in photos."""


@synonym.command("add")
@click.argument("name")
@click.argument("tag")
@_changing
def add_synonym(name: str, tag: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Let NAME stand for TAG."""
    _change(folder, catalogue, dry_run, Change("synonym add", name, tag))


@synonym.command("remove")
@click.argument("name")
@_changing
def remove_synonym(name: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Let NAME no longer stand for a tag."""
    _change(folder, catalogue, dry_run, Change("synonym remove", name, ""))


@command.group("parent")
def parent() -> None:
    """Put tags below others, so that a search for the one above finds their photos."""


@parent.command("set")
@click.argument("tag")
@click.argument("above")
@_changing
def set_parent(tag: str, above: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Put TAG below ABOVE, which is made if there is none; the name of TAG stays."""
    _change(folder, catalogue, dry_run, Change("parent set", tag, above))


@parent.command("remove")
@click.argument("tag")
@click.argument("above")
@_changing
def remove_parent(tag: str, above: str, folder: Path | None, dry_run: bool, catalogue: Path | None) -> None:
    """Take TAG from below ABOVE."""
    _change(folder, catalogue, dry_run, Change("parent remove", tag, above))


def _change(folder: Path | None, catalogue: Path | None, dry_run: bool, change: Change) -> None:
    with existing(folder, catalogue) as library:
        done = change_tags(library.catalogue, change, dry_run=dry_run)
    for line in done.lines:
        click.echo(f"{'would: ' if dry_run else ''}{printable(line)}")
    for place, tag in done.conflicts[:MOST_CONFLICTS]:
        click.echo(f"  {printable(place)}: you said yes and no; that of {printable(tag)} holds", err=True)
    if len(done.conflicts) > MOST_CONFLICTS:
        click.echo(f"  … and {len(done.conflicts) - MOST_CONFLICTS:,} more", err=True)
    if done.in_files:
        photos = plural(done.in_files, "photo")
        click.echo(
            f"the old keyword stays in {photos}, or their sidecars: tagmix reads it as the new tag, other "
            "programs show the old one",
            err=True,
        )


def shell_word(text: str) -> str:
    """Return a text as one word of a POSIX shell, also if it begins as an option.

    >>> print(shell_word("at night"), shell_word("boat"))
    'at night' boat
    """
    return shlex.quote(printable(text))
