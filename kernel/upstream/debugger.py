"""The debugger, loaded when a front end first asks something of it: debugpy makes a sixth of a start.

ipykernel loads it with every kernel, to know whether it is there. That is answered by looking for the package, in the
name of `ipykernel.debugger`, by a module that gives way to the real one as soon as anything else is asked of it. What
`breakpoint()` does is debugpy's to say as well, so the first one loads it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import ipykernel

import perdure

_NAME = "ipykernel.debugger"
_MODULES = 5  # where among a debugger's arguments the files are that are no user's code


def stand_in() -> None:
    """Put off loading `ipykernel.debugger`, which the kernel asks for as it is made, unless somebody has loaded it."""
    if _NAME not in sys.modules:
        module: Any = _StandIn(_NAME, "Stands for the real module until that is needed.")
        module._is_debugpy_available = importlib.util.find_spec("debugpy") is not None
        sys.modules[_NAME] = ipykernel.debugger = module
        if module._is_debugpy_available and sys.breakpointhook is sys.__breakpointhook__:
            sys.breakpointhook = _breakpoint


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # the import system looks at these
        return getattr(_loaded(), name)


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _StandIn):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


def _breakpoint(*args: Any, **kwargs: Any) -> Any:
    """Stands for the hook that debugpy sets as it is loaded, and that does nothing where no debugger listens."""
    _loaded()
    if sys.breakpointhook is _breakpoint:  # debugpy could not be loaded, or leaves it alone
        sys.breakpointhook = sys.__breakpointhook__
    return sys.breakpointhook(*args, **kwargs)


class LateDebugger:
    """Stands for ipykernel's Debugger, and makes it of the same arguments when something is asked of it."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._made: Any = None
        self._making = threading.Lock()
        self._waits: asyncio.Future[None] | None = None

    async def handle_stopped_event(self) -> None:
        """Overrides Debugger.handle_stopped_event, which the kernel calls again and again: wait for a debugger."""
        if self._made is None:
            self._waits = asyncio.get_running_loop().create_future()
            await self._waits
        await self._made.handle_stopped_event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._debugger(), name)

    def _debugger(self) -> Any:
        with self._making:
            if self._made is None:
                arguments = [*self._arguments]
                # What is imported later than the kernel is no user's code either.
                house = Path(perdure.__file__).parent
                ours = (str(file) for inside in ("*.py", "*/*.py", "*/*/*.py") for file in house.glob(inside))
                arguments[_MODULES] = [*arguments[_MODULES], *ours]
                self._made = _loaded().Debugger(*arguments)
                if (waits := self._waits) is not None:
                    waits.get_loop().call_soon_threadsafe(waits.set_result, None)
        return self._made
