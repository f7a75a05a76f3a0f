"""The command tagmix, and ``python -m tagmix``."""

from importlib import import_module

from tagmix import interrupts


def main() -> None:
    """Run a command line; signals are answered from before the first import that takes time."""
    interrupts.take_over()
    with interrupts.importing():
        cli = import_module("tagmix.cli")
    cli.main()


if __name__ == "__main__":
    main()
