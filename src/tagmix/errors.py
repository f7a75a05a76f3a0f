"""The errors of tagmix. Each message is one line: what was expected, what was given, and the way out."""


def printable(text: object) -> str:
    """Return a text with unprintable characters escaped, so that no file name breaks a line of a message.

    >>> printable(f"sea{chr(7)}.jpg")[3:7] == chr(92) + "x07"
    True
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


class TagmixError(Exception):
    """Base class of all errors that tagmix raises on purpose."""


class BagsError(TagmixError, ValueError):
    """The bags (instances, offsets, tags, ids) do not fit together."""


class ParameterError(TagmixError, ValueError):
    """A parameter is outside its allowed range."""


class ModelFileError(TagmixError, ValueError):
    """A file was not written by tagmix, is damaged, or was written by a newer version."""


class ImageError(TagmixError, ValueError):
    """A file is not a readable picture, or is too large to decode safely."""


class AlbumError(TagmixError, ValueError):
    """A file or folder is not an album in the expected format."""


class NetworkError(TagmixError, ValueError):
    """A network or its description file is missing, cannot be run, or is not the expected one."""


class MetadataError(TagmixError, ValueError):
    """The metadata of a photo, or its sidecar, cannot be read or written safely."""


class CatalogueError(TagmixError, ValueError):
    """A catalogue is damaged, locked, from a newer version, or lacks what was requested."""
