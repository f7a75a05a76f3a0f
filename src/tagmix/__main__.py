"""python -m tagmix is tagmix."""

from tagmix.cli import main

main()
