"""events.jsonl: what is written, and what a torn end costs."""

from __future__ import annotations

import errno
import json
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.events import Event, EventLog, EventName

from .failing_disk import FailingDisk, When

NOON = datetime(2026, 3, 1, 12, 0, 0, 987654, tzinfo=UTC)


def log_in(folder: Path, disk: FailingDisk | None = None, session: str = "s-1a2b3c4d") -> EventLog:
    return EventLog(folder / "state" / "ada" / "events.jsonl", session, disk or RealDisk(), lambda: NOON)


def test_a_line(tmp_path: Path) -> None:
    log_in(tmp_path).record(EventName.DEFINITION_RECORDED, key="area", path="functions/a/area.py")
    file = tmp_path / "state/ada/events.jsonl"
    assert json.loads(file.read_text()) == {
        "time": "2026-03-01T12:00:00.987Z",
        "session": "s-1a2b3c4d",
        "event": "definition_recorded",
        "key": "area",
        "path": "functions/a/area.py",
    }
    assert file.read_bytes().endswith(b"}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (file.parent, file.parent.parent)} == {0o700}


def test_time_is_in_utc(tmp_path: Path) -> None:
    there = timezone(timedelta(hours=5, minutes=30))
    log = EventLog(tmp_path / "e.jsonl", "s", RealDisk(), lambda: NOON.astimezone(there))
    log.record(EventName.FILE_SKIPPED)
    assert [event.time for event in log.read()] == ["2026-03-01T12:00:00.987Z"]


def test_sessions_share_a_file(tmp_path: Path) -> None:
    log_in(tmp_path, session="a").record(EventName.DEFINITION_RECORDED, key="x")
    log_in(tmp_path, session="b").record(EventName.DEFINITION_FORGOTTEN, key="x")
    assert [(event.session, event.event) for event in log_in(tmp_path).read()] == [
        ("a", "definition_recorded"),
        ("b", "definition_forgotten"),
    ]


def test_no_file_is_no_event(tmp_path: Path) -> None:
    assert list(log_in(tmp_path).read()) == []


def test_a_field_every_event_has(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="session"):
        log_in(tmp_path).record(EventName.FILE_SKIPPED, session="mine")


@given(cut=st.integers(min_value=1, max_value=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_torn_end_costs_its_own_line_alone(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("torn")
    log, file = log_in(folder), folder / "state/ada/events.jsonl"
    log.record(EventName.FILE_SKIPPED, path="a")
    whole = len(file.read_bytes())
    log.record(EventName.FILE_SKIPPED, path="b")
    both = file.read_bytes()
    file.write_bytes(both[: max(whole, len(both) - cut)])
    log.record(EventName.FILE_SKIPPED, path="c")
    left = [event.fields["path"] for event in log.read()]
    # Without its newline alone the line is whole, and counts.
    assert left == (["a", "b", "c"] if cut == 1 else ["a", "c"])


@pytest.mark.parametrize("line", [b"[]", b"null", b"\xff", b"{", b"[" * 100_000, b'{"time": 3}', b"{}", b""])
def test_a_foreign_line_is_passed_over(tmp_path: Path, line: bytes) -> None:
    log = log_in(tmp_path)
    log.record(EventName.FILE_SKIPPED)
    with (tmp_path / "state/ada/events.jsonl").open("ab") as file:
        file.write(line + b"\n")
    log.record(EventName.FILE_SKIPPED)
    assert len(list(log.read())) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# What Python makes of the bytes of a file name that are no UTF-8.
ESCAPED = st.text(st.characters(categories=["Cc", "Zl", "Ll"]) | st.integers(0xDC80, 0xDCFF).map(chr))


@given(st.lists(st.dictionaries(st.from_regex(r"f_[a-z]{1,5}", fullmatch=True), JSON | ESCAPED), max_size=4))
def test_what_is_recorded_is_read(tmp_path_factory: pytest.TempPathFactory, recorded: list[dict[str, object]]) -> None:
    log = log_in(tmp_path_factory.mktemp("log"))
    for fields in recorded:
        log.record(EventName.FILE_SKIPPED, **fields)
    head = ("2026-03-01T12:00:00.987Z", "s-1a2b3c4d", "file_skipped")
    assert list(log.read()) == [Event(*head, fields) for fields in recorded]


@pytest.mark.parametrize("when", ["before", "after", "half"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_refuses(tmp_path: Path, code: int, when: When) -> None:
    log_in(tmp_path).record(EventName.FILE_SKIPPED, path="a")
    failing = FailingDisk(at=1, code=code, when=when, counted=frozenset({"append"}))
    with pytest.raises(StoreFault, match=r"events\.jsonl"):
        log_in(tmp_path, failing).record(EventName.FILE_SKIPPED, path="b")
    log_in(tmp_path).record(EventName.FILE_SKIPPED, path="c")
    paths = [event.fields["path"] for event in log_in(tmp_path).read()]
    assert paths == (["a", "b", "c"] if when == "after" else ["a", "c"])


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "state/ada/events.jsonl").mkdir(parents=True)
    with pytest.raises(StoreFault):
        log_in(tmp_path).record(EventName.FILE_SKIPPED)
    with pytest.raises(StoreFault):
        list(log_in(tmp_path).read())


# The newest of one definition.


def last(log: EventLog, key: str) -> tuple[str, object] | None:
    event = log.last_of(key)
    return None if event is None else (event.event, event.fields.get("n"))


def test_the_newest_event_of_a_key(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", "s-1", RealDisk())
    assert log.last_of("area") is None
    for number, key in enumerate(("area", "ring", "area", 'odd", "key": "x', "größe")):
        log.record(EventName.DEFINITION_RECORDED, key=key, n=number)
    log.record(EventName.DEFINITION_FORGOTTEN, key="ring", n=9)
    log.record(EventName.FILE_SKIPPED, path="x", reason='", "key": "area"', n=10)
    assert last(log, "area") == ("definition_recorded", 2)
    assert last(log, "ring") == ("definition_forgotten", 9)
    assert last(log, 'odd", "key": "x') == ("definition_recorded", 3)
    assert last(log, "größe") == ("definition_recorded", 4)
    assert last(log, "x") is None
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"time": "t", "key": "area", "n": 7')
    assert last(log, "area") == ("definition_recorded", 2)
    (tmp_path / "events.jsonl").unlink()
    (tmp_path / "events.jsonl").mkdir()
    with pytest.raises(StoreFault):
        log.last_of("area")
