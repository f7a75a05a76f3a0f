"""Many files on several processes: each result once, past crashes, bugs and Ctrl-C."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cv2
import pytest
from threadpoolctl import threadpool_info

from tagmix import ParameterError
from tagmix.errors import ImageError, printable
from tagmix.images.cache import CacheError
from tagmix.images.process_pool import (
    CRASHED,
    Failure,
    WorkerError,
    count_processes,
    map_files,
    one_thread,
    read_content,
)


def double(task):
    return 2 * task


def die_on_negative(task):
    if task < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


def leave_on_negative(task):
    if task < 0:
        os._exit(0)
    return 2 * task


class Stubborn(Exception):
    """An exception that cannot be pickled, as some libraries have."""

    def __init__(self, one, two):
        super().__init__(one)


TROUBLE = {
    "value": ValueError("a bug"),
    "cache": CacheError("no space"),
    "parameter": ParameterError("no such segmenter"),
    "stubborn": Stubborn("a", "b"),
    "image": ImageError("must be a picture"),
    "gone": FileNotFoundError(2, "No such file", "/some/where/x.jpg"),
}


def die_once(path):
    """Die like a process that somebody else has killed: the second try succeeds."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def own_process(task):
    return os.getpid()


def fail(task):
    if task in TROUBLE:
        raise TROUBLE[task]
    return task


def threads(_):
    return max(pool["num_threads"] for pool in threadpool_info()), cv2.getNumThreads()


def server(_):
    return os.getppid()


class Counted:
    """A function that counts how often it is sent."""

    sent = 0

    def __call__(self, task):
        return task

    def __reduce__(self):
        Counted.sent += 1
        return Counted, ()


class Deadly:
    """A function that no worker survives receiving."""

    def __call__(self, task):
        return task

    def __reduce__(self):
        return os._exit, (7,)


def results(function, tasks, n_jobs):
    found = list(map_files(function, tasks, n_jobs))
    assert sorted(number for number, _ in found) == list(range(len(tasks)))
    return [result for _, result in sorted(found, key=lambda pair: pair[0])]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
@pytest.mark.parametrize("n", [0, 1, 13])
def test_every_task_has_one_result_for_any_number_of_processes(n_jobs, n):
    assert results(double, range(n), n_jobs) == [2 * i for i in range(n)]


@pytest.mark.parametrize("function", [die_on_negative, leave_on_negative])
@pytest.mark.parametrize("deadly", [{0}, {8}, {0, 1}, {0, 3, 4, 8}, set(range(9))])
def test_a_file_that_kills_its_process_is_set_aside_and_all_others_are_done(function, deadly):
    tasks = [-1 if i in deadly else i for i in range(9)]
    assert results(function, tasks, 2) == [CRASHED if i in deadly else 2 * i for i in range(9)]


def test_files_that_all_kill_their_process_are_all_set_aside():
    assert results(die_on_negative, [-1, -2], 2) == [CRASHED, CRASHED]


def test_a_file_is_not_blamed_for_a_process_that_somebody_else_killed(tmp_path):
    assert results(die_once, [tmp_path / "a", tmp_path / "b", tmp_path / "c"], 2) == ["a", "b", "c"]


def test_a_server_of_workers_that_is_gone_is_said_in_one_line(monkeypatch):
    def gone(self):
        raise EOFError

    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", gone)
    with pytest.raises(WorkerError, match="a worker process should have started, but could not"):
        results(double, [1, 2], 2)


def test_a_single_file_needs_no_process_of_its_own():
    assert results(own_process, ["one"], 2) == [os.getpid()]
    assert os.getpid() not in results(own_process, ["one", "two"], 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["value", "cache", "parameter"])
def test_a_bug_and_the_trouble_of_the_run_are_raised_as_themselves(n_jobs, kind):
    others = set(multiprocessing.active_children())  # of other tests
    with pytest.raises(type(TROUBLE[kind]), match=str(TROUBLE[kind])):
        results(fail, ["a", kind, "b", "c"], n_jobs)
    assert set(multiprocessing.active_children()) <= others


def test_a_bug_in_a_worker_says_where_it_was():
    with pytest.raises(ValueError, match="a bug") as caught:
        results(fail, ["value", "a"], 2)
    assert "in fail" in caught.value.__notes__[0]


def test_an_exception_that_cannot_travel_is_raised_by_name():
    with pytest.raises(RuntimeError, match="Stubborn: a"):
        results(fail, ["stubborn", "a"], 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_trouble_of_a_file_is_a_failure_that_does_not_repeat_its_name(n_jobs):
    image, gone, fine = results(fail, ["image", "gone", "fine"], n_jobs)
    assert image == Failure("must be a picture")
    assert gone == Failure("it cannot be used (No such file): check the file.")
    assert fine == "fine"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_is_done_on_one_thread_per_process_and_the_parent_gets_its_threads_back(n_jobs):
    before = threads(None)
    assert set(results(threads, range(4), n_jobs)) == {(1, 1)}
    assert threads(None) == before


def test_threads_that_overlap_stay_on_one_thread_until_the_last_has_ended():
    before = threads(None)
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads(None) == (1, 1)
    second.__exit__(None, None, None)
    assert threads(None) == before


def test_two_threads_have_a_pool_each_and_leave_the_script_as_it_was():
    main = sys.modules["__main__"]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda n: results(double, range(n), 2), (4, 5)))
    assert found == [[0, 2, 4, 6], [0, 2, 4, 6, 8]]
    assert sys.modules["__main__"] is main


def test_the_function_is_sent_once_a_worker():
    Counted.sent = 0
    assert results(Counted(), range(20), 2) == list(range(20))
    assert Counted.sent == 2


def test_workers_of_a_second_run_come_from_the_server_of_the_first():
    assert len({*results(server, range(4), 2), *results(server, range(4), 2)}) == 1


def test_workers_that_cannot_start_end_the_run_in_one_line():
    with pytest.raises(WorkerError, match=r"should have started, but it ended \(exit code 7\): .* n_jobs=1"):
        results(Deadly(), range(100), 2)


def test_a_run_that_is_given_up_leaves_no_process():
    others = set(multiprocessing.active_children())  # of other tests
    run = map_files(double, range(100), 2)
    next(run)
    run.close()
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "two", True])
def test_what_is_no_number_of_processes_is_refused(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be a whole number from 1, or -1, or None, got"):
        count_processes(n_jobs)


def test_minus_one_is_all_cores_this_process_may_use():
    assert count_processes(-1) == len(os.sched_getaffinity(0))


def test_names_are_shown_on_one_line_and_otherwise_as_they_are(tmp_path):
    assert printable(tmp_path / "Dünen 1.jpg") == f"{tmp_path}/Dünen 1.jpg"
    assert printable("a\n\x1b[31m\udcff.jpg") == r"a\n\x1b[31m\udcff.jpg"


def test_what_cannot_be_read_as_a_picture_file_says_why_without_its_name(tmp_path, monkeypatch):
    (tmp_path / "large.jpg").write_bytes(b"12345")
    monkeypatch.setattr("tagmix.images.process_pool.MAX_BYTES", 4)
    os.mkfifo(tmp_path / "pipe.jpg")
    for name, reason in {
        "gone.jpg": "does not exist: ",
        "": "must be a plain file, got a folder, pipe or device: ",
        "pipe.jpg": "must be a plain file, got a folder, pipe or device: ",
        "large.jpg": "must have at most 4 bytes, got 5: ",
        "large.jpg/below": "cannot be read: Not a directory; ",
        "a\0b": "cannot be read: not a possible name; ",
    }.items():
        with pytest.raises(ImageError) as caught:
            read_content(tmp_path / name)
        assert str(caught.value).startswith(reason)


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import test_process_pool
from tagmix.images.process_pool import map_files
print("started", flush=True)
"""
UNGUARDED = SCRIPT + "print(sorted(map_files(test_process_pool.double, range(4), 2)))\n"
ENDLESS = (
    SCRIPT
    + """
try:
    for number, _ in map_files(test_process_pool.pause, range(10**6), 2):
        print(number, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
)


def pause(_):
    time.sleep(0.05)


def write_script(folder, text):
    (folder / "script.py").write_text(text.format(here=os.path.dirname(__file__)))
    return [sys.executable, str(folder / "script.py")]


def test_a_script_without_a_guard_runs_once(tmp_path):
    command = write_script(tmp_path, UNGUARDED)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["started", "[(0, 0), (1, 2), (2, 4), (3, 6)]"]
    assert done.stderr == ""


@contextlib.contextmanager
def endless_run(folder):
    """A run of its own process group, until it has three results."""
    command = write_script(folder, ENDLESS)
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        for _ in range(4):
            assert run.stdout.readline()
        yield run
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()


def wait_until_gone(group):
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_gives_one_interrupt_in_the_parent_and_leaves_no_process(tmp_path):
    with endless_run(tmp_path) as run:
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
        assert out.splitlines()[-1] == "interrupted"
        assert err == ""
        assert run.returncode == 0
        assert wait_until_gone(run.pid)


def test_ctrl_c_while_workers_start_is_as_quiet(tmp_path):
    command = write_script(tmp_path, ENDLESS)
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert run.stdout.readline() == "started\n"
    time.sleep(0.3)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (out.splitlines()[-1], err) == ("interrupted", "")
    assert wait_until_gone(run.pid)


def test_workers_of_a_parent_that_was_killed_end_by_themselves(tmp_path):
    with endless_run(tmp_path) as run:
        run.kill()
        _, err = run.communicate(timeout=60)
        assert err == ""
        assert wait_until_gone(run.pid)
