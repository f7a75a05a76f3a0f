"""Write the tags of photos in the order that makes a kill harmless: plan, sidecar, done."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue import PhotoId, Run
from tagmix.errors import MetadataError
from tagmix.images.sources import Problem
from tagmix.library.decisions import Decision
from tagmix.library.events import PhotoTagged, Skipped, TagEvent
from tagmix.library.records import JPEG, note_now
from tagmix.library.rejecting import reject
from tagmix.library.sessions import Session, release
from tagmix.library.wishes import Picked, Wishes
from tagmix.metadata.embed import Embedding, apply_embedding, plan_embedding
from tagmix.metadata.sidecars import sidecar_of
from tagmix.metadata.write import Addition, Change, RegionTag, apply_change, plan_addition

DRY = "dry"


class Job(NamedTuple):
    """A photo and what is to be written of it."""

    path: Path
    photo: PhotoId
    picked: Picked
    regions: tuple[RegionTag, ...]
    decision: Decision


class _Planned(NamedTuple):
    job: Job
    change: Change | Embedding | None
    problem: Problem | None = None
    is_done: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        return () if self.change is None else self.change.added


def dry_run(jobs: Sequence[Job], wishes: Wishes) -> Iterator[TagEvent]:
    """Yield what ``write`` would do."""
    for job in jobs:
        yield _event(_plan(job, wishes, DRY, DRY, datetime.now(UTC)))


def write(session: Session, jobs: Sequence[Job], wishes: Wishes) -> Iterator[TagEvent]:
    """Yield what becomes of each photo; the sidecars are written, and the run is begun if need be."""
    if not jobs:
        return
    yield from session.begin()
    run, catalogue = session.running, session.catalogue

    def plan(job: Job) -> _Planned:
        problem = _rejected(session, job)
        if problem is not None:
            return _Planned(job, None, problem)
        return _plan(job, wishes, run.name, run.model, datetime.fromtimestamp(run.started, UTC))

    planned = [plan(job) for job in jobs]
    with catalogue.batch():
        # Another process may have planned the same photos since they were looked at
        planned = [_unless_done(session, one) for one in planned]
        for one in planned:
            _record_plan(session, run, one)
    done = [_applied(session, run, one, plan) for one in planned]
    with catalogue.batch():
        for one in done:
            if one.change is not None and one.added:
                catalogue.runs.wrote(run, one.job.photo, one.added)
    yield from map(_event, done)


def _plan(job: Job, wishes: Wishes, run: str, model: str, date: datetime) -> _Planned:
    """Return the change of the sidecar; none if it is not to be written, or nothing is new."""
    if not wishes.sidecars or not job.picked.new:
        return _Planned(job, None)
    addition = Addition(job.picked.new, job.regions, run, model, date)
    change: Change | Embedding
    try:
        if wishes.embed and job.path.suffix.lower() in JPEG and sidecar_of(job.path) is None:
            change = plan_embedding(job.path, addition, regions=wishes.regions)
        else:
            change = plan_addition(job.path, addition, regions=wishes.regions)
    except MetadataError as error:
        return _Planned(job, None, Problem(job.path, str(error)))
    return _Planned(job, change if change.added else None)


def _rejected(session: Session, job: Job) -> Problem | None:
    """Reject what the human rejected, before anything is added; return what prevents that."""
    try:
        if job.decision.rejected:
            reject(session.catalogue, job.photo, job.path, job.decision.rejected)
    except MetadataError as error:
        return Problem(job.path, str(error))
    return None


def _unless_done(session: Session, one: _Planned) -> _Planned:
    return _Planned(one.job, None, is_done=True) if session.is_done(one.job.photo) else one


def _record_plan(session: Session, run: Run, one: _Planned) -> None:
    catalogue, job = session.catalogue, one.job
    for tag in job.decision.accepted:
        catalogue.verdicts.set(job.photo, tag, "yes")
    likely = dict(job.picked.every)
    if one.change is not None:
        catalogue.runs.plan(run, job.photo, likely, one.added)
    elif one.problem is None and not one.is_done:
        catalogue.runs.guess(run, job.photo, likely)


def _applied(session: Session, run: Run, one: _Planned, plan: Callable[[Job], _Planned]) -> _Planned:
    """Return the plan as it was carried out: once more if another program changed the sidecar meanwhile."""
    if one.change is None:
        return one
    try:
        try:
            _apply(one.change)
        except MetadataError:
            one = plan(one.job)
            if one.change is None:
                raise
            _record_plan(session, run, one)
            _apply(one.change)
    except MetadataError as error:
        session.catalogue.runs.drop(run, one.job.photo)
        return _Planned(one.job, None, one.problem or Problem(one.job.path, str(error)))
    entry = session.catalogue.runs.entry(run, one.job.photo)
    if entry is not None and one.job.decision.accepted:
        release(one.job.path, run, entry)
    if isinstance(one.change, Embedding):
        note_now(session.catalogue, one.job.path)
    return one


def _apply(change: Change | Embedding) -> None:
    if isinstance(change, Embedding):
        apply_embedding(change)
    else:
        apply_change(change)


def _event(one: _Planned) -> TagEvent:
    if one.problem is not None:
        return one.problem
    if one.is_done:
        return Skipped(one.job.path, "done before")
    new, present = one.job.picked.new, one.job.picked.present
    if one.change is not None:
        added = tuple(likely for likely in new if likely[0] in one.added)
        others = tuple(likely for likely in new if likely[0] not in one.added)
        present = (*present, *others)
        if isinstance(one.change, Embedding):
            return PhotoTagged(one.job.path, added, present, one.job.path)
        return PhotoTagged(one.job.path, added, present, one.change.sidecar, one.change.before is None)
    return (
        PhotoTagged(one.job.path, new, present, None)
        if new
        else Skipped(one.job.path, "nothing new", present)
    )
