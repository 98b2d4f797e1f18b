"""Cell magics whose body runs as if written plainly but goes past the shell's own runner (DESIGN §3, `%%time`).

The shell runs them as one call, `get_ipython().run_cell_magic('time', '', 'body')`; which statements of the body
completed is told afterwards. `%%capture` is not among them: it comes back through the shell's runner.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import TracebackType

from perdure.layer.slots import fact

_TIMED = ("time", "prun")
_BODY_FILES = ("<timed exec>", "<timed eval>", "<string>")  # what IPython and cProfile name a body's code


@fact
class Body:
    """The body of a timed cell, not yet transformed to plain Python."""

    text: str
    swallows: bool  # `%%time --no-raise-error`: an exception in it is shown but does not arrive


def body_of(node: ast.stmt) -> Body | None:
    """The body that `node` runs, None where it is no call of such a magic."""
    match node:
        case ast.Expr(
            ast.Call(
                ast.Attribute(ast.Call(ast.Name("get_ipython")), "run_cell_magic"),
                [ast.Constant(str(name)), ast.Constant(str(line)), ast.Constant(str(text))],
            )
        ) if name in _TIMED:
            return Body(text, "--no-raise-error" in line)
    return None


def completed(nodes: Sequence[ast.stmt], traceback: TracebackType | None) -> Sequence[ast.stmt]:
    """The statements of a body that ran to their end before the exception of `traceback` left it."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename in _BODY_FILES and code.co_name == "<module>":
            return [node for node in nodes if (node.end_lineno or node.lineno) < traceback.tb_lineno]
        traceback = traceback.tb_next
    return []
