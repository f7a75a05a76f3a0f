"""The errors tagmix raises: each says what was expected, what came and the way out."""


def printable(text: object) -> str:
    """Return a text with what cannot be printed escaped, so that no name breaks a line of a message.

    >>> printable(f"sea{chr(7)}.jpg")[3:7] == chr(92) + "x07"
    True
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


class TagmixError(Exception):
    """Anything tagmix refuses to do; catch this to catch them all."""


class BagsError(TagmixError, ValueError):
    """The bags (instances, offsets, tags, ids) do not fit together."""


class ParameterError(TagmixError, ValueError):
    """A setting is outside what the model allows."""


class ModelFileError(TagmixError, ValueError):
    """A file is not one of ours, is damaged, or was written by a newer tagmix."""


class ImageError(TagmixError, ValueError):
    """A file is not a picture that can be read, or is too large to be read safely."""


class AlbumError(TagmixError, ValueError):
    """A file or folder is not an album of the format it was opened as."""


class NetworkError(TagmixError, ValueError):
    """A network, or the file that describes it, is missing, cannot be run, or is not the one expected."""
