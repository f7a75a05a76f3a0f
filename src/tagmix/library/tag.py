"""Tag photos of a library: annotate them, and write what is new into their sidecars and the catalogue.

Killed at any moment, a run does no harm: first the catalogue records what is planned, then the sidecar is
written with its provenance, then the catalogue records that. The same call goes on with the run.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tagmix.annotate import CHUNK, Annotation, Annotator
from tagmix.catalogue import Catalogue, PhotoId
from tagmix.files import model_id
from tagmix.images.describe import Progress
from tagmix.images.sources import Problem
from tagmix.library.decisions import Decide, Decision, Proposal, StopAsking
from tagmix.library.events import RunFinished, Scanned, Skipped, TagEvent
from tagmix.library.rejecting import complete
from tagmix.library.scan import photos_below, scan_photos
from tagmix.library.sessions import ASKED, Session
from tagmix.library.wishes import Picked, Wishes, known_of, pick, region_tags, thresholds_of
from tagmix.library.writing import Job, dry_run, write

# Photos whose plans are recorded together: for each record a disk takes some milliseconds.
TOGETHER = 32
# Photos described before the first question: nobody wants to wait for more.
CHUNK_ASKED = 8


def tag(
    catalogue: Catalogue,
    annotator: Annotator,
    photos: Iterable[Path | Problem] | None = None,
    wishes: Wishes | None = None,
    *,
    decide: Decide | None = None,
    dry: bool = False,
    progress: Progress | None = None,
) -> Iterator[TagEvent]:
    """Yield what becomes of each photo (None: of all of the library), while its tags are written.

    Photos are noted in the catalogue first. Those that a run of the same model and wishes has handled are
    skipped. Tags that a human rejected are never added. ``decide`` is called for each photo with new tags:
    its answers are recorded as verdicts of a human, None skips the photo. ``dry`` writes no sidecars and
    begins no run; what it notes should go into a copy of the catalogue. ``progress`` is called with
    ("pictures", done, 0). The iterator may be closed, and its process killed, at any moment.
    """
    wishes = wishes or Wishes()
    annotator.check_precision(wishes.precision)
    session = Session(catalogue, model_id(annotator), wishes.plain() | ({} if decide is None else ASKED))
    if not dry:
        yield from session.take_up()
    yield from tag_in(session, annotator, photos, wishes, decide=decide, dry=dry, progress=progress)
    yield from session.finish()


def tag_in(
    session: Session,
    annotator: Annotator,
    photos: Iterable[Path | Problem] | None,
    wishes: Wishes,
    *,
    decide: Decide | None = None,
    dry: bool = False,
    progress: Progress | None = None,
) -> Iterator[TagEvent]:
    """Yield what becomes of photos as ``tag`` does, in a run that stays open."""
    rejected = frozenset() if dry else frozenset(session.catalogue.runs.rejected())
    work = _Work(session, annotator, wishes, decide, progress, rejected)
    given = photos_below(session.catalogue.root) if photos is None else photos
    problems: set[Path] = set()
    jobs: list[Job] = []
    try:
        for one in work.jobs(scan_photos(session.catalogue, given)):
            if not isinstance(one, Job):
                problems |= {Path(one.source)} if isinstance(one, Problem) else set()
                yield one
                continue
            jobs.append(one)
            if len(jobs) >= (TOGETHER if decide is None else 1):
                yield from _once(_written(session, jobs, wishes, dry), problems)
                jobs = []
    except StopAsking:
        yield from session.finish(stopped=True)
    yield from _once(_written(session, jobs, wishes, dry), problems)


def _written(session: Session, jobs: Sequence[Job], wishes: Wishes, dry: bool) -> Iterator[TagEvent]:
    return dry_run(jobs, wishes) if dry else write(session, jobs, wishes)


def _once(events: Iterable[TagEvent], problems: set[Path]) -> Iterator[TagEvent]:
    """Yield events, of each photo one problem."""
    return (one for one in events if not isinstance(one, Problem) or Path(one.source) not in problems)


class _Work(NamedTuple):
    """From scanned photos to what is to be written."""

    session: Session
    annotator: Annotator
    wishes: Wishes
    decide: Decide | None
    progress: Progress | None
    # Photos with tags that a human rejected and that could not be taken out of the sidecar then
    rejected: frozenset[PhotoId]

    def jobs(self, scanned: Iterable[Scanned | Problem]) -> Iterator[Job | TagEvent]:
        """Yield jobs, and what becomes of the other photos; described in chunks, to bound the memory."""
        waiting: list[Scanned] = []
        finished = 0
        for event in scanned:
            yield event
            skipped = None if isinstance(event, Problem) else self._skipped(event)
            if skipped is not None:
                yield skipped
            elif isinstance(event, Scanned):
                waiting.append(event)
            if len(waiting) == (CHUNK if self.decide is None else CHUNK_ASKED):
                yield from self._decided(waiting, finished)
                finished, waiting = finished + len(waiting), []
            finished += not isinstance(event, Scanned) or skipped is not None
        yield from self._decided(waiting, finished)

    def _skipped(self, event: Scanned) -> Skipped | None:
        if event.photo in self.rejected:
            complete(self.session.catalogue, event.photo, event.path)
        if self.session.has(event.photo) or self.session.is_done(event.photo):
            return Skipped(event.path, "done before")
        if self.wishes.only_untagged and is_tagged(self.session.catalogue, event.photo):
            return Skipped(event.path, "has tags")
        return None

    def _decided(self, photos: Sequence[Scanned], finished: int) -> Iterator[Job | TagEvent]:
        for photo, found in zip(photos, self._annotations(photos, finished), strict=True):
            yield found if isinstance(found, Problem) else self._job(photo, found)

    def _annotations(self, photos: Sequence[Scanned], finished: int) -> list[Annotation | Problem]:
        def report(stage: str, done: int, of: int) -> None:
            if self.progress is not None:
                self.progress(stage, finished + done, 0)

        paths = [photo.path for photo in photos]
        k = self.wishes.top or len(self.annotator.model.tag_names_)
        precision = self.wishes.precision
        return list(self.annotator.annotate(paths, k, 1, precision=precision, progress=report))

    def _job(self, photo: Scanned, found: Annotation) -> Job | Skipped:
        catalogue = self.session.catalogue
        # A doubtful tag is worth a question, but not a place in the files of a person
        thresholds = thresholds_of(self.annotator) if self.decide is None else {}
        likely = self.wishes.wanted(found.tags, thresholds)
        picked = pick(catalogue, likely, known_of(catalogue, photo.photo, photo.path))
        decision: Decision | None = Decision()
        if self.decide is not None and picked.new:
            decision = self.decide(Proposal(photo.path, picked.new, picked.present))
            if decision is None:
                return Skipped(photo.path, "declined", picked.present)
            picked = Picked(tuple(one for one in picked.new if one[0] in decision.accepted), picked.present)
        regions = region_tags(catalogue, found, (tag for tag, _ in picked.every))
        return Job(photo.path, photo.photo, picked, regions, decision or Decision())


def is_tagged(catalogue: Catalogue, photo: PhotoId) -> bool:
    """Return whether a photo has any tag, whoever gave it."""
    return any(one.answer == "yes" for one in catalogue.verdicts.of(photo))


__all__ = ["Decide", "Decision", "Proposal", "RunFinished", "StopAsking", "Wishes", "tag", "tag_in"]
