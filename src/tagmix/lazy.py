"""Import public names on first use: ``tagmix --help`` must not wait for numba, scikit-learn and OpenCV."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def modules_by_name(stub: str) -> dict[str, str]:
    """Return the module of each name that a stub file imports.

    >>> modules_by_name("from tagmix.bags import Bags as Bags")
    {'Bags': 'tagmix.bags'}
    """
    imports = (node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from the stub beside its file."""
    modules = modules_by_name(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get_attribute, lambda: sorted([*modules, "__version__"]), sorted(modules)
