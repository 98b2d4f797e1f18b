"""`@fact`: all that a frozen, slotted dataclass can be asked, asked of both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from perdure.layer.slots import fact, state


@fact
class Loan:
    """A book in hands."""

    title: str
    day: int = 0
    notes: list[str] = field(default_factory=list)
    marks: tuple[str, ...] = field(default=())

    @property
    def late(self) -> bool:
        return self.day > 30


@dataclass(frozen=True, slots=True)
class Real:
    """A book in hands."""

    title: str
    day: int = 0
    notes: list[str] = field(default_factory=list)
    marks: tuple[str, ...] = field(default=())


@fact
class Nothing:
    """No field at all."""


@fact
class Other:
    title: str


@state
class Shelf:
    loans: list[Loan] = field(default_factory=list)
    open: bool = True


MAKINGS: list[Callable[[Any], object]] = [
    lambda kind: kind("Emma"),
    lambda kind: kind("Emma", 3),
    lambda kind: kind(title="Emma", marks=("a",)),
    lambda kind: kind("Emma", 3, ["torn"], ("a", "b")),
]


@pytest.mark.parametrize("make", MAKINGS)
def test_it_is_as_a_dataclass(make: Callable[[Any], Any]) -> None:
    ours, real = make(Loan), make(Real)
    assert dataclasses.astuple(ours) == dataclasses.astuple(real)
    assert dataclasses.asdict(ours) == dataclasses.asdict(real)
    assert repr(ours) == repr(real).replace("Real", "Loan")
    assert ours == make(Loan)
    assert ours != dataclasses.replace(ours, day=99)
    assert dataclasses.replace(ours, title="Persuasion").title == "Persuasion"
    assert copy.copy(ours) == copy.deepcopy(ours) == pickle.loads(pickle.dumps(ours)) == ours


def test_a_default_that_is_made_is_made_for_each() -> None:
    assert Loan("Emma").notes is not Loan("Emma").notes


def test_equal_ones_have_one_hash_and_another_class_is_another() -> None:
    assert hash(Loan("Emma", 1, (), ())) == hash(Loan("Emma", 1, (), ()))  # type: ignore[arg-type]
    assert Other("Emma") == Other("Emma")
    other: object = Loan("Emma")
    assert Other("Emma") != other
    assert Nothing() == Nothing()
    assert {Nothing(), Nothing()} == {Nothing()}


def test_nothing_of_it_can_be_changed() -> None:
    loan = Loan("Emma")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'title'"):
        loan.title = "Persuasion"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'title'"):
        del loan.title
    with pytest.raises(AttributeError):
        loan.shelf = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", [(), ("Emma", 1, [], (), "more")])
def test_a_wrong_making_says_so(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"Loan\.__init__\(\)"):
        Loan(*wrong)
    with pytest.raises(TypeError, match=r"Loan\.__init__\(\)"):
        Loan("Emma", shelf=3)  # type: ignore[call-arg]


def test_it_is_matched_by_its_fields_and_keeps_its_methods() -> None:
    match Loan("Emma", 40):
        case Loan(title, day):
            assert (title, day) == ("Emma", 40)
    assert Loan("Emma", 40).late
    assert Loan.__doc__ == "A book in hands."
    assert Loan.__module__ == __name__
    assert not hasattr(Loan("Emma"), "__dict__")


def test_a_state_can_be_changed_and_has_no_hash() -> None:
    shelf = Shelf()
    shelf.open = False
    shelf.loans.append(Loan("Emma"))
    assert shelf == Shelf([Loan("Emma")], open=False)
    assert shelf != Shelf()
    with pytest.raises(TypeError, match="unhashable"):
        hash(shelf)
    with pytest.raises(AttributeError):
        shelf.colour = "red"  # type: ignore[attr-defined]
