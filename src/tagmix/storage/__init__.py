"""Files without pickle: names to arrays and plain fields, nothing that knows a model."""

from tagmix.storage.container import Contents, read, write
from tagmix.storage.manifest import JSON

__all__ = ["JSON", "Contents", "read", "write"]
