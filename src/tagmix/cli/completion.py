"""tagmix completion: the script that makes a shell complete commands and options."""

import click

from tagmix.cli.completing import script_of


@click.command("completion", short_help="completion by Tab")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, their values and files by Tab.

    Put the line for your shell into its start-up file; nothing else has to be installed. Bash must be 4.4 or
    newer (macOS has an older one; its usual shell is zsh).

    \b
    Examples:
      eval "$(tagmix completion bash)"         in ~/.bashrc
      eval "$(tagmix completion zsh)"          in ~/.zshrc, after compinit
      tagmix completion fish | source          in ~/.config/fish/config.fish
    """
    click.echo(script_of(shell))
