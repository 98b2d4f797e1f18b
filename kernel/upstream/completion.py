"""Completion behind `%layer`, for both of IPython's completers: the one with jedi, and the plain one.

Overrides nothing: a matcher is added. It is one of the second kind, which can keep jedi out: that takes the line for
Python. (The older hook, `complete_command`, cannot.)
"""

from __future__ import annotations

import re
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from perdure.kernel import layer_magic

_FIRST = 1_000  # before jedi, which then is not even asked
_COMMAND = r"\s*%?layer "


def add_completion(shell: Any) -> None:
    """Have `%layer` completed in `shell`, a PerdureShell."""

    def match(context: CompletionContext) -> SimpleMatcherResult:
        before = context.text_until_cursor
        if shell.workspace is None or not re.match(_COMMAND, before):
            return {"completions": [], "suppress": False}
        word = before.rpartition(" ")[2]
        # IPython takes `@` for the end of a word: of `f@In` it asks to replace `In` only.
        head = word.removesuffix(context.token)
        found = [each for each in layer_magic.completions(shell.workspace, before.lstrip()) if each.startswith(word)]
        made = [SimpleCompletion(each.removeprefix(head), type="magic") for each in found]
        return {"completions": made, "suppress": True, "ordered": True}

    as_matcher: Any = context_matcher(priority=_FIRST, identifier="perdure_layer")  # which has no types
    shell.Completer.custom_matchers.append(as_matcher(match))
