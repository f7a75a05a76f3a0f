"""Files without pickle: names to arrays and plain fields, nothing that knows a model."""

from tagmix.storage.container import Contents, read, write
from tagmix.storage.manifest import JSON
from tagmix.storage.whole import get, put

__all__ = ["JSON", "Contents", "get", "put", "read", "write"]
