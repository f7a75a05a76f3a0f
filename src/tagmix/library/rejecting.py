"""Reject tags of a photo: a no in the catalogue, and what tagmix wrote of them goes out of the sidecar.

Killed at any moment, a rejection does no harm: first the catalogue records the no, which is the plan, then
the sidecar is written, then the catalogue records that no run owns the tag there. The next ``tag`` does the
rest.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from tagmix.catalogue import Catalogue, PhotoId
from tagmix.errors import MetadataError
from tagmix.library.records import note_now, records_inside, records_of
from tagmix.metadata.embed import apply_embedding, plan_tag_unembedding
from tagmix.metadata.provenance import Record
from tagmix.metadata.write import apply_change, plan_tag_removal


def reject(catalogue: Catalogue, photo: PhotoId, path: Path, tags: Iterable[str]) -> tuple[str, ...]:
    """Record that a human rejects tags of a photo, and return those that are gone from its sidecar.

    What tagmix wrote of them is taken out; tags below them and what anybody else wrote stay. Raise
    MetadataError if that cannot be written: the verdicts stand, and the next ``reject`` or ``tag`` does it.
    """
    with catalogue.batch():
        for tag in tags:
            catalogue.verdicts.set(photo, tag, "no")
    return _take_out(catalogue, photo, path)


def complete(catalogue: Catalogue, photo: PhotoId, path: Path) -> None:
    """Take out what was rejected and could not be taken out then, as after a kill, if possible now."""
    with contextlib.suppress(MetadataError):  # it stays to be done
        _take_out(catalogue, photo, path)


def _take_out(catalogue: Catalogue, photo: PhotoId, path: Path) -> tuple[str, ...]:
    """Take all out of a sidecar that tagmix wrote and a human rejected; return the tags that are gone."""
    human = catalogue.verdicts.by_source(photo)["human"]
    rejected = {tag for tag, answer in human.items() if answer == "no"}
    names = catalogue.tags.standing_for(rejected, _names(records_of(path)))
    gone: tuple[str, ...] = ()
    if names:
        inside = catalogue.tags.standing_for(rejected, _names(records_inside(path)))
        if inside:
            embedding = plan_tag_unembedding(path, inside)
            apply_embedding(embedding)
            note_now(catalogue, path)
            gone = embedding.removed
        gone = tuple(dict.fromkeys((*gone, *_out_of_sidecar(path, names))))
    catalogue.runs.disown(photo, rejected)
    return gone


def _names(records: Iterable[Record]) -> list[str]:
    return [tag for one in records for tag in (*one.names, *(note.tag for note in one.regions))]


def _out_of_sidecar(path: Path, names: frozenset[str]) -> tuple[str, ...]:
    change = plan_tag_removal(path, names)
    try:
        apply_change(change)
    except MetadataError:  # another program may have changed it in this moment
        change = plan_tag_removal(path, names)
        apply_change(change)
    return change.removed
