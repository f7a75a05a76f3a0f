"""Files without pickle: named arrays and plain fields; independent of any model."""

from tagmix.storage.atomic import read_limited, write_atomic
from tagmix.storage.container import Contents, read, write
from tagmix.storage.manifest import JSON

__all__ = ["JSON", "Contents", "read", "read_limited", "write", "write_atomic"]
