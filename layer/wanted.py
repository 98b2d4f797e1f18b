"""What a start left out for want of a definition, once that is there again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .boot_report import Skipped
from .definition import RelPath
from .view import MISSING, value_of


def wanting(skipped: Iterable[Skipped], names: Iterable[str]) -> tuple[Skipped, ...]:
    """Those that were left out for want of one of `names`, or of what these in turn would have given."""
    found: dict[RelPath, Skipped] = {}
    wanted = {*names}
    left = [each for each in skipped if each.wants is not None]
    while more := [each for each in left if each.wants in wanted and each.path not in found]:
        found |= {each.path: each for each in more}
        wanted.update(name for each in more for name in each.names)
    return tuple(found.values())


def files_wanting(
    skipped: Iterable[Skipped],
    names: Iterable[str],
    files: Mapping[RelPath, bytes],
    namespace: Mapping[str, object],
) -> dict[RelPath, bytes]:
    """The `files` of those `wanting` one of `names` that take the place of nothing in the `namespace`."""
    found = (each for each in wanting(skipped, names) if each.path in files)
    return {
        each.path: files[each.path]
        for each in found
        if all(value_of(name, namespace) is MISSING for name in each.names)
    }
