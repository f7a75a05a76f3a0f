"""Completion by Tab: click's protocol on light copies of the commands.

To import a verb takes seconds, for NumPy, Numba and scikit-learn, and nobody waits that long for Tab. So the
names, choices and kinds of every option are kept in the user's cache folder when a verb is first completed,
until tagmix changes.
"""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from tagmix import __version__
from tagmix.cli.places import usual_cache

VARIABLE = "_TAGMIX_COMPLETE"
PACKAGE = Path(__file__).parents[1]
Spec = list[dict[str, Any]]


def script_of(shell: str) -> str:
    """Return the script that makes a shell complete tagmix."""
    kind = get_completion_class(shell)
    assert kind is not None
    own = kind(click.Command("tagmix"), {}, "tagmix", VARIABLE)
    return own.source_template % own.source_vars()  # source() of bash would start bash to ask its version


def respond(verbs: click.Group, instruction: str) -> None:
    """Print what a shell asks for, such as "bash_complete", as click does."""
    shell, _, what = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is not None and what == "complete":
        click.echo(kind(_Light(verbs), {}, "tagmix", VARIABLE).complete())


class _Light(click.Group):
    """The verbs of a group, with light copies of their commands."""

    def __init__(self, heavy: click.Group) -> None:
        super().__init__("tagmix", params=heavy.params, context_settings=heavy.context_settings)
        self.heavy = heavy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self.heavy.list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        kept = _kept()
        if cmd_name not in kept:
            command = self.heavy.get_command(ctx, cmd_name)
            assert command is not None
            kept[cmd_name] = spec_of(command)
            _keep(kept)
        return command_of(cmd_name, kept[cmd_name])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from_help = getattr(self.heavy, "about", {})
        found = [
            CompletionItem(verb, help=from_help.get(verb))
            for verb in self.list_commands(ctx)
            if verb.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


def spec_of(command: click.Command) -> Spec:
    """Return what completion needs to know of the parameters of a command, and of those below it."""
    inner = command.commands if isinstance(command, click.Group) else {}
    own = [_parameter(one) for one in command.params if not getattr(one, "hidden", False)]
    return own + [{"command": name, "spec": spec_of(one)} for name, one in inner.items()]


def _parameter(one: click.Parameter) -> dict[str, Any]:
    option = isinstance(one, click.Option)
    names = "/".join([one.opts[-1], *one.secondary_opts])
    return {
        "names": [one.name, *one.opts[:-1], names] if option else [one.name],
        "flag": bool(getattr(one, "is_flag", False) or getattr(one, "count", False)),
        "many": one.multiple or one.nargs == -1,
        "help": str(getattr(one, "help", None) or ""),
        "choices": list(map(str, one.type.choices)) if isinstance(one.type, click.Choice) else [],
        "place": _place(one),
        "option": option,
    }


def _place(one: click.Parameter) -> str:
    """Return "file" or "dir" for parameters that name one: paths, albums, networks; else nothing."""
    if isinstance(one.type, click.Path):
        return "file" if one.type.file_okay else "dir"
    named = (one.name or "").startswith(("album", "network")) or "FILE" in (one.metavar or "")
    return "file" if named else ""


def command_of(name: str, spec: Spec) -> click.Command:
    """Return a command that only completes."""
    inner = [command_of(one["command"], one["spec"]) for one in spec if "command" in one]
    own = [_light(one) for one in spec if "command" not in one]
    kind: Any = partial(click.Group, commands=inner) if inner else click.Command
    found = kind(name, params=own, context_settings={"ignore_unknown_options": True})
    assert isinstance(found, click.Command)
    return found


def _light(one: Mapping[str, Any]) -> click.Parameter:
    kind: Any = str
    if one["choices"]:
        kind = click.Choice(one["choices"])
    elif one["place"]:
        kind = click.Path(file_okay=one["place"] == "file")
    if not one["option"]:
        return click.Argument(one["names"], type=kind, nargs=-1 if one["many"] else 1, required=False)
    flag = {"is_flag": True} if one["flag"] else {"type": kind}
    return click.Option(one["names"], multiple=one["many"], help=one["help"], **flag)


def _key() -> str:
    """Return what changes when a file of tagmix does."""
    stats = [path.stat() for path in PACKAGE.rglob("*.py")]
    return f"{__version__} {len(stats)} {max(one.st_mtime_ns for one in stats)}"


def _kept() -> dict[str, Spec]:
    """Return what is kept of the verbs of this tagmix; nothing where there is no sound file."""
    try:
        found = json.loads((usual_cache() / "completion.json").read_text(encoding="utf-8"))
        return dict(found["verbs"]) if found["key"] == _key() else {}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return {}


def _keep(verbs: Mapping[str, Spec]) -> None:
    """Keep it for the next time, whole or not at all; without a cache folder completion is slow."""
    try:
        target = usual_cache() / "completion.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".completion-{os.getpid()}.tmp")
        new.write_text(json.dumps({"key": _key(), "verbs": verbs}), encoding="utf-8")
        new.replace(target)
    except (OSError, RuntimeError):
        return
