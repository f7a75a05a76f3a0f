"""What there is to learn from, in words: counts before and after --min-count, and what would help."""

from tagmix.cli.options import plural
from tagmix.datasets import Album
from tagmix.datasets.survey import in_kinds
from tagmix.errors import AlbumError, printable

LOOKED = "keywords are read inside photos (XMP, IPTC) and in .xmp, .txt and .json files beside them"
MOST_STOPPED = 3


def training_part(album: Album, split: str | None) -> Album:
    """Return the pictures to learn from, with all their tags."""
    part = album.split(split) if split else album.without("test")
    if not len(album):
        raise AlbumError(
            "an album must have pictures, got none that exists: check the paths in the album file"
        )
    if not len(part):
        raise AlbumError(
            f"all {len(album):,} pictures are marked test, and train does not use these: choose a part with "
            "--split"
        )
    if not part.tag_counts():
        raise AlbumError(
            f"no picture among {len(part):,} has a tag, so there is nothing to learn from"
            f"{_why_none(album)}: tag some in your photo software, or try --subfolders"
        )
    return part


def _why_none(album: Album) -> str:
    """Return what was found in the place of tags, in brackets."""
    said = [_stopped(album)] if album.notes.stopped else []
    if album.notes.machine_only:
        said.append(f"{plural(album.notes.machine_only, 'photo')} with machine tags alone")
    if album.notes.unread:
        said.append(f"{in_kinds(album.notes.unread)} not read")
    return f" ({'; '.join(said)})" if said else ""


def _stopped(album: Album) -> str:
    shown = [printable(tag)[:40] for tag in list(album.notes.stopped)[:MOST_STOPPED]]
    return f"only keywords that programs write for themselves: {', '.join(shown)}"


def frequent_part(part: Album, min_count: int) -> Album:
    """Return the pictures with the tags that are frequent enough; others give way to tags above them."""
    kept = part.keep_tags(min_count)
    if len(kept.tag_counts()) < 2:
        raise AlbumError(
            f"at least 2 tags must be on {min_count} pictures each, got {len(kept.tag_counts())} of "
            f"{len(part.tag_counts())} tags: tag more pictures, or lower --min-count{_lower(part, min_count)}"
        )
    return kept


def _lower(part: Album, min_count: int) -> str:
    """Return the highest lower --min-count that gives two tags, in brackets."""
    counts = sorted(part.with_parents().tag_counts().values(), reverse=True)
    best = counts[1] if len(counts) > 1 else 0
    if not 0 < best < min_count:
        return ""
    return f" ({best} gives {sum(count >= best for count in counts)} tags)"


def size_of(whole: Album, kept: Album, min_count: int) -> str:
    """Return how many pictures and tags there are to learn from, and what is left out, in words."""
    tagged, learnt = (sum(bool(item.tags) for item in album) for album in (whole, kept))
    every, learnt_tags = (album.with_parents().tag_counts() for album in (whole, kept))
    line = f"{len(whole):,} pictures"
    if tagged < len(whole):
        line = f"{tagged:,} of {line} have tags"
    if learnt < tagged:
        line += f", {learnt:,} after --min-count"
    line += f", {plural(len(learnt_tags), 'tag')} on at least {min_count} of them"
    if rare := len(every) - len(learnt_tags):
        line += f"; {plural(rare, 'rarer tag')} left out (--min-count)"
    return line


def hints(whole: Album, kept: Album, min_count: int) -> list[str]:
    """Return what was not read, and what would give more to learn from, in lines; none if all is well."""
    notes, lines = whole.notes, []
    if notes.unread:
        lines.append(f"not read: {in_kinds(notes.unread)}")
    if notes.pairs:
        lines.append(f"{plural(notes.pairs, 'raw file')} beside a picture of the same name: one picture each")
    if notes.machine_only:
        lines.append(f"{plural(notes.machine_only, 'photo')} with machine tags alone, not learnt from")
    tagged = sum(bool(item.tags) for item in whole)
    if 2 * tagged < len(whole) and whole.format == "folder":
        lines.append(f"most photos have no tags: {LOOKED}; --subfolders takes the names of folders")
    every, learnt = (album.with_parents().tag_counts() for album in (whole, kept))
    if len(every) > 2 * len(learnt) and (more := _more(every, len(learnt), min_count)):
        lines.append(f"most tags are too rare: {more}")
    return lines


def _more(counts: dict[str, int], learnt: int, min_count: int) -> str:
    """Return how many tags lower values of --min-count give, the two highest that give more."""
    gains = {n: sum(count >= n for count in counts.values()) for n in range(min_count - 1, 0, -1)}
    better = [(n, tags) for n, tags in gains.items() if tags > learnt]
    return ", ".join(f"--min-count {n} learns {tags:,}" for n, tags in better[:2])
