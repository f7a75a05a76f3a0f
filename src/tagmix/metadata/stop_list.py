"""Keywords that programs write for themselves, and that say nothing about what a picture shows."""

import re
from collections.abc import Collection, Sequence
from fnmatch import translate
from functools import lru_cache

# Patterns of whole canonical tags; * is any text, levels included. Capital letters make no difference.
STOP_LIST = (
    "darktable",  # darktable|changed, darktable|exported, darktable|style|…
    "darktable|*",
    "format|*",  # darktable: format|rw2
    "_digikam_internal_tags_*",  # colour and pick labels, versions, "scanned for faces"
    "_digikam_root_tag_*",
    "people|unknown",  # digiKam: faces without a name
    "people|unconfirmed",
    "people|ignored",
    "[a-z]*:[a-z]*=*",  # machine tags of Flickr: geo:lat=52.5
    "geotagged",
)


def without_stopped(
    tags: Sequence[str], stop: Collection[str] = STOP_LIST
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tags that match no pattern, and those that match one.

    >>> without_stopped(["sea", "darktable|format|rw2", "geo:lat=52.5"])
    (('sea',), ('darktable|format|rw2', 'geo:lat=52.5'))
    """
    pattern = _compiled(tuple(stop))
    stopped = tuple(tag for tag in tags if pattern.fullmatch(tag.lower()))
    return tuple(tag for tag in tags if tag not in stopped), stopped


@lru_cache(maxsize=8)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or r"(?!)")
