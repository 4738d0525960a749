"""Whether the process that holds a warehouse still lives, and where that can't be told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.jobs.registry.lease import Owner, is_alive, work_begins, work_ends
from tests.conftest import ROOT

TELL = "from pipelines.jobs.registry.lease import Owner; print(Owner.this_process().text(), flush=True); input()"


@pytest.fixture
def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_process_of_this_machine_lives_or_not(ended: int) -> None:
    here = Owner.this_process()

    assert Owner.read(here.text()) == here
    assert here.lives()
    assert here.is_this()
    assert replace(here, process=ended).lives() is False
    assert replace(here, born="long ago").lives() is False
    assert not replace(here, process=os.getppid()).is_this()


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"boot": "another start"}, {"namespace": "pid:[1]"}])
def test_a_process_that_cannot_be_seen_from_here_may_live(ended: int, other: dict[str, str]) -> None:
    owner = replace(Owner.this_process(), process=ended, **other)

    assert owner.lives() is None
    assert not replace(Owner.this_process(), **other).is_this()


def test_entries_of_older_versions_tell_the_host_only(ended: int) -> None:
    here = json.loads(Owner.this_process().text())
    older = {name: here[name] for name in ("host", "process", "born")}

    assert Owner.read(json.dumps(older)).lives()
    assert Owner.read(json.dumps(older | {"process": ended})).lives() is False


def test_a_name_that_stands_for_hosts_stands_for_no_other_machine(ended: int) -> None:
    hidden = replace(Owner.this_process("hidden"), process=ended)

    assert hidden.lives("hidden") is False
    assert hidden.lives() is None
    assert replace(hidden, boot="of another machine").lives("hidden") is None


def test_a_process_in_a_container_of_the_same_host_name_is_not_taken_for_dead() -> None:
    unshare = shutil.which("unshare")
    command = [unshare or "", "--pid", "--fork", "--mount-proc"]
    if unshare is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces of processes can be made here")
    inside = [*command, sys.executable, "-c", TELL]
    with subprocess.Popen(inside, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = Owner.read(process.stdout.readline())
        assert told.host == Owner.this_process().host
        assert told.lives() is None
        process.communicate("\n")


def test_a_process_holds_a_warehouse_as_long_as_it_works_on_the_run() -> None:
    row = {"run_id": "mine", "owner": Owner.this_process().text(), "seen_at": datetime.now(UTC)}
    hour = timedelta(hours=1)

    assert not is_alive(row, hour)
    work_begins("mine")
    assert is_alive(row, hour)
    assert not is_alive(row | {"run_id": "left behind"}, hour)
    work_ends("mine")
    assert not is_alive(row, hour)
