"""What is said while something takes long."""

from __future__ import annotations

import threading

import pytest

from perdure.layer.progress import told


def test_what_takes_long_is_told_while_it_goes_on() -> None:
    said = threading.Event()
    with told(said.set, 0):
        assert said.wait(60)


def test_what_is_soon_over_is_not_told() -> None:
    said = threading.Event()
    before = threading.active_count()
    with pytest.raises(KeyError), told(said.set, 600):
        raise KeyError
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60)
    assert threading.active_count() <= before
    assert not said.is_set()


def test_where_nobody_listens_there_is_no_thread() -> None:
    before = threading.active_count()
    with told(None, 0):
        assert threading.active_count() == before
