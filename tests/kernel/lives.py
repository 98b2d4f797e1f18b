"""Cases that look at a layer before and after a kernel was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .driver import Kernel

Case: TypeAlias = Callable[[Kernel], Iterator[None]]


@dataclass(slots=True)
class Lives:
    """Runs the first half of every case in one kernel, kills it, and each second half in the next.

    A case is a generator: what stands before its `yield` happens in the first life, what stands after in the second.
    A kernel takes a second or two to start, so they share; each still passes or fails by itself.
    """

    kernel: Kernel
    _begun: dict[str, Iterator[None] | BaseException] = field(default_factory=dict)

    def live(self, cases: Sequence[Case]) -> None:
        """The first life, the kill, and the start of the second life."""
        self.kernel.start()
        for case in cases:
            begun = case(self.kernel)
            try:
                next(begun)
                self._begun[case.__name__] = begun
            except Exception as failure:
                self._begun[case.__name__] = failure
        self.kernel.restart()

    def go_on(self, case: Case) -> None:
        """The second half of `case`; what failed in the first fails here."""
        begun = self._begun.pop(case.__name__)
        if isinstance(begun, BaseException):
            raise begun
        for _ in begun:
            raise AssertionError("a case has two lives")


class Cases(list[Case]):
    """The cases of one test module; used as a decorator it makes a test of each."""

    def __call__(self, case: Case) -> Callable[[Lives], None]:
        self.append(case)

        def test(lives: Lives) -> None:
            lives.go_on(case)

        test.__name__ = test.__qualname__ = case.__name__
        test.__doc__ = case.__doc__
        test.__module__ = case.__module__
        return test
