"""Every public name, command and option is documented, and the documents name no others."""

import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path

import click
import pytest

import tagmix
from tagmix import cli
from tests.test_maths_pages import resolved

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages of past measurements and decisions keep the names of their time.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "decisions"),
]
COMMAND = re.compile(r"\btagmix ([a-z][a-z0-9]*)\b([^\n`#]*)")
OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z-]+")
DOTTED = re.compile(r"(?<![\w./-])tagmix(?:\.[A-Za-z_]\w*)+")
IMPORTED = re.compile(r"^from (tagmix[\w.]*) import ([\w, ]+)$", re.MULTILINE)
CALL = re.compile(r"\b([A-Za-z_]\w*)\(([^()]*)\)")
OF_OTHERS = {"--help", "--version", "--strict"}  # of every command; mypy --strict


def page_of(path):
    return str(path.relative_to(ROOT))


@cache
def options():
    """Return the options of each command."""
    context = click.Context(cli.tagmix)
    commands = {verb: cli.tagmix.get_command(context, verb) for verb in cli.VERBS}
    return {verb: options_of(command) for verb, command in commands.items()}


def options_of(command):
    """Return the options of a command, and of those below it."""
    own = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    return own.union(*map(options_of, getattr(command, "commands", {}).values()))


@cache
def command_page():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "_ext" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = [(DOCS / "reference" / "commands.md").read_text(encoding="utf-8")]
    module.insert_commands(None, "reference/commands", source)
    return source[0]


def code_of(page):
    """Return the code of a page, in blocks and in lines: prose may mention anything."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *(" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest))])


def of_describers(name):
    """Return the settings of a describer: those of its views are not in its signature."""
    if name != "Describer":
        return set()
    plain = tagmix.Describer().config.plain()
    return {*plain, *(setting for view in plain["views"].values() for setting in view)}


def test_every_public_name_is_on_the_page_of_the_library_and_no_other():
    lines = (DOCS / "reference" / "api.rst").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if re.fullmatch(r"   \w+", line)]
    assert sorted(listed) == sorted(tagmix.__all__)


@pytest.mark.parametrize("name", tagmix.__all__)
def test_every_public_name_and_its_methods_have_a_docstring(name):
    public = getattr(tagmix, name)
    assert inspect.getdoc(public)
    members = inspect.getmembers(public) if inspect.isclass(public) else []
    own = [m for m, value in members if not m.startswith("_") and _is_ours(value)]
    assert [m for m in own if not inspect.getdoc(getattr(public, m))] == []


def _is_ours(value):
    function = getattr(value, "fget", value)
    return callable(function) and str(getattr(function, "__module__", "")).startswith("tagmix")


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_command_and_option_is_on_the_page_of_the_command_line_with_its_help(verb):
    section = command_page().split(f"\n## {verb}\n")[1].split("\n## ")[0]
    assert "tagmix " + verb in section
    described = "\n".join(re.findall(r"^`(.+)`\n: \S", section, re.MULTILINE))
    missing = {option for option in options()[verb] if option.startswith("--") and option not in described}
    assert missing - {"--help"} == set()


@pytest.mark.parametrize("page", PAGES, ids=page_of)
def test_a_page_names_only_commands_and_options_that_exist(page):
    code = code_of(page)
    known = set().union(*options().values()) | OF_OTHERS
    for verb, rest in COMMAND.findall(code):
        if verb in ("import", "as"):
            continue
        assert verb in cli.VERBS, f"there is no command tagmix {verb}"
        wrong = set(OPTION.findall(rest)) - options()[verb] - OF_OTHERS
        assert not wrong, f"tagmix {verb} has no {wrong}"
    assert set(OPTION.findall(code)) <= known


@pytest.mark.parametrize("page", PAGES, ids=page_of)
def test_a_page_names_only_python_names_that_exist(page):
    code = code_of(page)
    for path in DOTTED.findall(code):
        resolved(path)
    for module, names in IMPORTED.findall(code):
        for name in names.split(","):
            resolved(f"{module}.{name.strip()}")
    for name, arguments in CALL.findall(code):
        if name in tagmix.__all__:
            known = {*inspect.signature(getattr(tagmix, name)).parameters, *of_describers(name)}
            wrong = set(re.findall(r"(\w+)=", arguments)) - known
            assert not wrong, f"{name} has no parameter {wrong}"
