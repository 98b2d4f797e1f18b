"""Reading `metadata.perdure` of a request: what is said wins, what is not is guessed, what is odd counts as unsaid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.wire import DEFAULT_NOTICES, Notices, Request, RequestKind, read_request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OURS = st.dictionaries(st.sampled_from(["kind", "notices", "notebook", "view", "reply"]) | st.text(), JSON, max_size=6)
SAID = st.sampled_from([None, *RequestKind]), st.sampled_from([None, *Notices])


def read(metadata: dict[str, Any], **options: Any) -> Request:
    return read_request(metadata, **{"allow_stdin": True, "silent": False, "store_history": True, **options})


@given(st.dictionaries(st.text(), JSON) | st.fixed_dictionaries({"perdure": OURS | JSON, "cellId": JSON}), st.data())
def test_no_metadata_is_too_odd_to_read(metadata: dict[str, Any], data: st.DataObject) -> None:
    allow_stdin, silent, store_history = (data.draw(st.booleans()) for _ in range(3))
    request = read_request(metadata, allow_stdin=allow_stdin, silent=silent, store_history=store_history)
    assert isinstance(request.kind, RequestKind)
    assert isinstance(request.notices, Notices)
    assert request.notebook is None or isinstance(request.notebook, str)
    assert not (silent and request.keeps)


@given(*SAID, st.booleans(), st.booleans())
def test_what_is_said_wins(kind: RequestKind | None, notices: Notices | None, allow_stdin: bool, celled: bool) -> None:
    said = {"kind": kind and kind.value, "notices": notices and notices.value}
    request = read({"perdure": said, "cellId": "c" if celled else None}, allow_stdin=allow_stdin)
    assert kind is None or request.kind is kind
    assert request.notices is (notices or DEFAULT_NOTICES[request.kind])


@pytest.mark.parametrize(
    ("metadata", "allow_stdin", "kind"),
    [
        ({}, True, RequestKind.CONSOLE),
        ({}, False, RequestKind.NOTEBOOK),
        ({"cellId": "c1"}, True, RequestKind.NOTEBOOK),
        ({"cellId": "c1"}, False, RequestKind.NOTEBOOK),
        ({"cellId": ""}, True, RequestKind.CONSOLE),
        ({"perdure": {"kind": "agent"}, "cellId": "c1"}, False, RequestKind.AGENT),
        ({"perdure": {"kind": "AGENT"}}, True, RequestKind.CONSOLE),
    ],
)
def test_the_kind_is_guessed_where_it_is_not_said(
    metadata: dict[str, Any], allow_stdin: bool, kind: RequestKind
) -> None:
    assert read(metadata, allow_stdin=allow_stdin).kind is kind


def test_config_changes_the_default_and_not_what_is_said() -> None:
    defaults = dict.fromkeys(RequestKind, Notices.NONE)
    assert read({}, defaults=defaults).notices is Notices.NONE
    assert read({"perdure": {"notices": "all"}}, defaults=defaults).notices is Notices.ALL


@pytest.mark.parametrize(("value", "notebook"), [("a.ipynb", "a.ipynb"), ("", None), (5, None), (["a"], None)])
def test_a_notebook_is_a_text(value: object, notebook: str | None) -> None:
    assert read({"perdure": {"notebook": value}}).notebook == notebook


@pytest.mark.parametrize(
    ("options", "keeps"),
    [
        ({}, True),
        ({"silent": True}, False),
        ({"store_history": False}, False),
        ({"store_history": False, "allow_stdin": False}, True),
        ({"store_history": False, "metadata": {"perdure": {"kind": "console"}}}, True),
        ({"store_history": False, "metadata": {"perdure": {"kind": "nonsense"}}}, False),
        ({"silent": True, "metadata": {"perdure": {"kind": "agent"}}}, False),
    ],
)
def test_requests_that_only_look_keep_nothing(options: dict[str, Any], keeps: bool) -> None:
    metadata = options.pop("metadata", {})
    assert read(metadata, **options).keeps is keeps
