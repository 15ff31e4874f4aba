"""What a reproduction keeps on disk, and what becomes of it when something goes wrong."""

import errno
import json
import os

import pytest

from noisykmeans.experiments import Settings
from noisykmeans.experiments.folder import JOURNAL, Folder
from noisykmeans.experiments.journal import Journal
from noisykmeans.experiments.settings import Run
from noisykmeans.experiments.trial import Row

RUN = Run("mod1", 7, 0)
ROWS = [Row("mod1", 7, 0, 123, "k-means", 0.1, 1 / 3, [0.1, 0.2], [[0.0, 1e-300]], 0.5)]
SETTINGS = Settings()


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as file:
        for i in range(3):
            file.append({"i": i})
    return path


@pytest.fixture
def used(tmp_path):
    with Folder(tmp_path / "out", SETTINGS) as folder:
        folder.add(RUN, ROWS)
    return tmp_path / "out"


def numbers(path):
    return [record["i"] for record in Journal.read(path)]


def test_records_come_back_in_their_order(journal):
    assert numbers(journal) == [0, 1, 2]


def test_a_half_written_last_line_never_counts_wherever_it_ends(journal):
    whole = journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        journal.write_bytes(whole[:end])
        assert numbers(journal) == [0, 1]
        with Journal(journal) as file:
            file.append({"i": 9})
        assert numbers(journal) == [0, 1, 9]


def test_a_damaged_line_does_not_count_and_spoils_no_other(journal):
    whole = bytearray(journal.read_bytes())
    whole[whole.index(b'"i":1') + 4] ^= 1
    journal.write_bytes(whole)
    assert numbers(journal) == [0, 2]


def test_a_line_is_on_the_disk_before_append_returns(journal, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(numbers(journal)))
    with Journal(journal) as file:
        file.append({"i": 3})
    assert synced == [[0, 1, 2, 3]]


def test_two_processes_cannot_write_to_one_folder(journal):
    with Journal(journal), pytest.raises(ValueError, match="another process is writing to"):
        Journal(journal)
    Journal(journal).close()


def test_runs_come_back_exactly(used):
    with Folder(used, SETTINGS, resume=True) as folder:
        assert folder.finished == {RUN: ROWS}


def test_folder_is_made_with_its_parents(tmp_path):
    with Folder(tmp_path / "a" / "b", SETTINGS, resume=True) as folder:
        assert folder.finished == {}
    assert (tmp_path / "a" / "b" / JOURNAL).is_file()


def test_runs_are_neither_mixed_nor_deleted_unasked(used):
    before = (used / JOURNAL).read_bytes()
    with pytest.raises(ValueError, match="holds 1 finished runs: resume to go on"):
        Folder(used, SETTINGS)
    with pytest.raises(ValueError, match=r"other settings \(seed 0 there, 1 here, window 'cubic'"):
        Folder(used, Settings(seed=1, window="sinc"), resume=True)
    assert (used / JOURNAL).read_bytes() == before


def test_overwriting_deletes_the_runs(used):
    with Folder(used, Settings(seed=1), overwrite=True) as folder:
        assert folder.finished == {}
    with Folder(used, Settings(seed=1), resume=True) as folder:
        assert folder.finished == {}


def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for resume in (False, True):
        with pytest.raises(ValueError, match="is not empty and holds no runs"):
            Folder(tmp_path, SETTINGS, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with Folder(tmp_path, SETTINGS, overwrite=True) as folder:
        folder.write("runs.csv", b"new")
        folder.keep_only((), ("runs", "summary"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [JOURNAL, "thesis.tex"]


def test_journal_without_readable_settings_is_refused(used):
    lines = (used / JOURNAL).read_bytes().splitlines(keepends=True)
    (used / JOURNAL).write_bytes(lines[1])
    with pytest.raises(ValueError, match=r"other settings \(which cannot be read\)"):
        Folder(used, SETTINGS, resume=True)


def test_stopped_before_the_first_line_was_whole_is_an_empty_start(used):
    head = (used / JOURNAL).read_bytes()[:20]
    (used / JOURNAL).write_bytes(head)
    with Folder(used, SETTINGS, resume=True) as folder:
        folder.add(RUN, ROWS)
    with Folder(used, SETTINGS, resume=True) as folder:
        assert folder.finished == {RUN: ROWS}


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match="file is a file: choose another folder"):
            Folder(path, SETTINGS)


def test_a_folder_without_permission_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # noqa: ARG005  root may write all
    with pytest.raises(PermissionError, match="no permission to write in"):
        Folder(tmp_path / "new", SETTINGS)
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_whole_or_not_at_all(used, monkeypatch):
    with Folder(used, SETTINGS, resume=True) as folder:
        folder.write("summary.md", b"first")

        def full(_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            folder.write("summary.md", b"second")
    assert (used / "summary.md").read_bytes() == b"first"
    assert sorted(path.name for path in used.iterdir()) == [JOURNAL, "summary.md"]


def test_journal_is_plain_json_after_the_checksum(used):
    header, run = (line.split(" ", 1)[1] for line in (used / JOURNAL).read_text().splitlines())
    assert json.loads(header)["settings"]["grid"] == 20
    assert json.loads(run)["run"] == ["mod1", 7, 0]
