"""Files without pickle: named arrays and plain fields; independent of any model."""

from tagmix.storage.atomic import read_limited, write_atomic
from tagmix.storage.container import Contents, manifest_of, read, read_manifest, write
from tagmix.storage.manifest import JSON, Manifest

__all__ = [
    "JSON",
    "Contents",
    "Manifest",
    "manifest_of",
    "read",
    "read_limited",
    "read_manifest",
    "write",
    "write_atomic",
]
