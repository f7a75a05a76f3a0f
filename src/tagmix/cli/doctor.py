"""tagmix doctor: check the installation, the machine, and files."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from tagmix.cli.checks import files, machine, packages
from tagmix.cli.checks.finding import OK, PROBLEM, WARNING, Check, Finding, findings_of, plural
from tagmix.cli.exits import Exit

CHECKS: dict[str, Check] = {
    "versions": packages.python,
    "packages": packages.packages,
    "network": packages.networks,
    "HEIC": packages.heic,
    "exiftool": packages.exiftool,
    "machine": machine.machine,
    "threads": machine.threads,
    "cache": files.cache,
    "data": files.catalogues,
    "self test": machine.self_test,
}
COLOURS = {OK: "green", WARNING: "yellow", PROBLEM: "red"}


@click.command("doctor", short_help="check the installation")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def command(paths: tuple[Path, ...], as_json: bool) -> None:
    """Check the installation and the machine, and PATHS: models and folders of photos.

    Each check prints a line: ok, warning (something is missing that not everybody needs) or problem, with
    what to do about it. The exit status is 1 if there is a problem. Catalogues are read in full; nothing is
    changed (but an old catalogue is upgraded, as by any command), and nothing leaves the machine. The self
    test draws its own pictures. Put the output into a report of an error: your home folder is written as ~,
    and no photo is named.

    \b
    Examples:
      tagmix doctor
      tagmix doctor photos.tagmix ~/Photos
      tagmix doctor --json > report.json
    """
    found = []
    for one in _all_findings(paths):
        found.append(one)
        if not as_json:
            for line in _lines(one, shutil.get_terminal_size().columns):
                click.echo(line)
    counts = {state: sum(one.state == state for one in found) for state in COLOURS}
    if as_json:
        plain = [one._asdict() for one in found]
        click.echo(
            json.dumps(
                {"problems": counts[PROBLEM], "warnings": counts[WARNING], "findings": plain}, indent=1
            )
        )
    else:
        summary = f"{plural(counts[PROBLEM], 'problem')}, {plural(counts[WARNING], 'warning')}"
        click.echo(f"{summary}. To report an error, paste all of this.")
    if counts[PROBLEM]:
        raise click.exceptions.Exit(Exit.FAILED)


def _all_findings(paths: tuple[Path, ...]) -> Iterator[Finding]:
    own = {**CHECKS}
    for path in paths:
        name = f"folder {path.name}" if path.is_dir() else f"model {path.name}"
        own[name] = partial(files.library if path.is_dir() else files.model, path)
    for name, check in own.items():
        yield from findings_of(name, check)


def _lines(one: Finding, width: int) -> list[str]:
    """Return a finding in lines, its way out on a line of its own."""
    state = (
        click.style(f"{one.state:<8}", fg=COLOURS[one.state]) if sys.stdout.isatty() else f"{one.state:<8}"
    )
    indent = " " * 9
    lines = textwrap.wrap(f"{one.check}: {one.found}", max(31, min(width, 110) - 9), break_on_hyphens=False)
    lines[1:] = [indent + line for line in lines[1:]]
    way_out = [f"{indent}→ {one.way_out}"] if one.way_out else []
    return [f"{state} {lines[0]}", *lines[1:], *way_out]
