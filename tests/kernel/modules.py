"""Modules of definitions as people write them, drawn by hypothesis, with what is to be left of each after a restart.

A module is made of forms, which stand in `FORMS` much as they are typed. What differs from one to the next is drawn:

    $f, $Kind, $LIMIT       a name of the module's own, the same throughout the form; `$plain…` are plain variables
    <function>, <class>     what an earlier form offered; `<own function>` is still free to be changed, since nothing
                            was made with it, `<spare function>` to be deleted too; `<function f>`: the same each time
    <number>, <pure>, <n>   an int: for any place that is read as it loads, for one that must be pure, and from n
    <hint>, <decorator>, <parameters>, <doc>
    <functools.wraps>       imported, by one of the forms an import has

Statements are apart by an empty line. Behind them, `->` says what they are to others and to the test:

    -> function $f          it is offered: takes an int and gives one
    -> class $K             K() can be made and inherited from; its method value(n) gives an int
    -> number, pure, hint, decorator …   an expression to be drawn in these places
    -> sample …             an expression whose repr is to be the same in any process
    -> keeps $K.grow        what is kept beside the names that the statements set
    -> gone, anew $f        it is no longer kept, or another: samples so far do not hold
    -> meanwhile            here others may stand
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

_T = TypeVar("_T")

FORMS = {
    "function": """
        def $f(<parameters>) -> <hint>:
            <doc>
            return <n>
        -> function $f
        -> sample $f.__doc__, $f.__name__
        """,
    "recursion": """
        def $f(n):
            return $f(n // 2) if n > 1 else <n>
        -> function $f
        """,
    "functions that call each other": """
        def $even(n):
            return n % 10 == 0 or $odd(n % 10 - 1)
        -> meanwhile
        def $odd(n):
            return n % 10 != 0 and $even(n % 10 - 1)
        -> function $even
        -> sample $even(4), $odd(4)
        """,
    "closure": """
        def $make(by):
            def inner(n):
                nonlocal by
                by += 1
                return n * by

            return inner

        $f = $make(<pure>)
        -> sample $f(3), $f(3)
        """,
    "generator": """
        def $count(n, by=<number>):
            for i in range(n % 5):
                yield i + by

        def $f(n): return sum($count(n))
        -> function $f
        -> sample list($count(3))
        """,
    "coroutines": """
        async def $wait(n, by: <hint> = <number>):
            return <n> + by

        async def $each(n):
            for i in range(2):
                yield await $wait(n + i)

        async def $all(n):
            return [i async for i in $each(n)]
        -> sample finish($all(2))
        """,
    "decorator": """
        def $traced(function):
            @<functools.wraps>(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs) + 1

            return wrapper
        -> decorator $traced
        """,
    "decorator with arguments": """
        def $plus(by=1, *, times: int = 1):
            return lambda function: <functools.wraps>(function)(lambda n: function(n) * times + by)
        -> decorator $plus()
        -> decorator $plus(<number>, times=2)
        """,
    "decorated": """
        @<decorator>
        # between
        @<decorator>
        def $f(<parameters>):
            <doc>
            return <n>
        -> function $f
        """,
    "decorator that is a class": """
        class $Calls:
            def __init__(self, function):
                self.function = function
                <functools.update_wrapper>(self, function)

            def __call__(self, n):
                return self.function(n) + 1

        @$Calls
        def $f(n):
            return <n>
        -> sample $f(3), $f.__name__
        """,
    "cached": """
        @<functools.lru_cache>(
            maxsize=<number>,  # entries
        )
        def $f(n): return <n>
        -> function $f
        -> sample $f.cache_parameters()
        """,
    "frame": """
        @<contextlib.contextmanager>
        def $frame(n, by=<number>):
            yield n + by

        def $f(n):
            with $frame(n) as framed:
                return framed
        -> function $f
        """,
    "lambda": """
        $f = lambda n, by=<pure>: n + by
        -> function $f
        """,
    "lambda for two names": """
        $f = $g = lambda n: <n>
        -> sample $f(3), $g(3), $f is $g
        """,
    "partial": """
        def $add(a, n):
            return a + n

        $f = <functools.partial>($add, <pure>)
        -> function $f
        """,
    "partial of an earlier one": """
        $f = <functools.partial>(<function>)
        -> function $f
        """,
    "alias": """
        $f = <function>
        -> number $f(2)
        -> sample $f(3)
        """,
    "function made by an import": """
        $f = <functools.lru_cache>(maxsize=2)(<function>)
        -> function $f
        """,
    "imported function": """
        $join = <os.path.join>

        $f = len
        -> sample $join("a", "b"), $f("abc")
        """,
    # Stages and what takes the place of another.
    "stage": """
        def $wrap(function):
            return lambda n: function(n) + <pure>

        <own function f> = $wrap(<own function f>)  # once
        -> anew <own function f>
        -> sample <own function f>(3)
        """,
    "stage by an import": """
        <own function f> = <functools.lru_cache>(<own function f>)
        -> sample <own function f>(4)
        """,
    "class of its earlier self": """
        class <own class K>(<own class K>):
            $extra = <number>

            def value(self, n):
                return super().value(n) + 1
        -> sample <own class K>.$extra
        """,
    "class decorated later": """
        def $mark(cls):
            cls.marked = <pure>
            return cls

        <own class K> = $mark(<own class K>)
        -> sample <own class K>.marked
        """,
    "new text": """
        def <own function f>(n, *, new=<number>):
            return n + new
        -> anew <own function f>
        -> sample <own function f>(3)
        """,
    "function becomes class": """
        class <own function f>(int):
            def __new__(cls, n):
                return super().__new__(cls, <n>)
        -> anew <own function f>
        -> sample <own function f>(3)
        """,
    "class anew": """
        class <spare class K>:
            def value(self, n):
                return -n
        -> anew <spare class K>
        -> class <spare class K>
        -> sample <spare class K>().value(3)
        """,
    "deleted": """
        del <spare function f>
        -> gone <spare function f>
        """,
    "deleted, and back": """
        del <own function f>

        def <own function f>(n):
            return <n>
        -> anew <own function f>
        -> sample <own function f>(3)
        """,
    "brief": """
        def $f(n): return n

        class $K: pass

        $LIMIT = 3

        del $f, $K, $LIMIT
        -> gone $f
        -> gone $K
        -> gone $LIMIT
        """,
    # Classes.
    "class": """
        class $K:
            <doc>

            size = <number>
            both = [size, size]

            def __init__(self, n: <hint> = <number>):
                self.n = n

            @property
            def twice(self) -> int:
                return self.n * 2

            @twice.setter
            def twice(self, value):
                self.n = value // 2

            @classmethod
            def make(cls) -> "$K":
                return cls()

            @staticmethod
            def value0(n):
                return <n>

            def value(self, n):
                return self.size + self.value0(n)

            class Inner:
                depth = <number>
        -> class $K
        -> hint $K
        -> number $K.size
        -> sample $K().value(3), $K.make().twice, $K.Inner.depth, $K.Inner.__qualname__, $K.__doc__, $K.both
        """,
    "slots": """
        class $K:
            __slots__ = ("n", "__m")

            def __init__(self):
                self.n, self.__m = <pure>, 2

            def value(self, n):
                return self.n + self.__m
        -> class $K
        -> sample $K().value(1), hasattr($K(), "__dict__")
        """,
    "subclass": """
        class $K(<class>):
            def value(self, n):
                return super().value(n) + <n>
        -> class $K
        -> sample $K().value(2), len($K.__mro__)
        """,
    "class with a decorator": """
        def $d(cls):
            cls.extra = <pure>
            return cls

        @$d
        class $K(<class>): pass
        -> class $K
        -> number $K.extra
        """,
    "dataclass": """
        @<dataclasses.dataclass>
        class $K:
            a: <hint> = <number>
            tags: list = <dataclasses.field>(default_factory=list)

            def value(self, n):
                return self.a + n
        -> class $K
        -> sample $K(1, [2]), $K().value(3), $K() == $K()
        """,
    "frozen dataclass": """
        @<dataclasses.dataclass>(frozen=True, order=True, slots=True)
        class $K:
            a: int = <number>
            b: "$K | None" = None
        -> sample $K(1) < $K(2), hash($K(1)) == hash($K(1)), $K(1, $K())
        """,
    "dataclass that inherits": """
        @<dataclasses.dataclass>(kw_only=True)
        class $Base:
            a: int = <number>

        @<dataclasses.dataclass>(kw_only=True)
        class $K($Base):
            b: <hint> = 2
        -> sample $K(a=1, b=2), $K()
        """,
    "enum": """
        class $Colour(<enum.Enum>):
            RED = <number>
            BLUE = <enum.auto>()

            @property
            def label(self):
                return self.name.lower()
        -> number $Colour.RED.value
        -> hint $Colour
        -> sample [c.label for c in $Colour], $Colour["BLUE"].value, $Colour.RED
        """,
    "flag": """
        $Mode = <enum.IntFlag>("$Mode", "READ WRITE")

        def $f(n, mode=$Mode.READ | $Mode.WRITE):
            return n + mode
        -> function $f
        -> sample list($Mode), $f(1)
        """,
    "abstract": """
        class $Shape(<abc.ABC>):
            @<abc.abstractmethod>
            def value(self, n): ...

        class $Square($Shape):
            def value(self, n):
                return n * n
        -> class $Square
        -> sample $Square().value(3), $Shape.__abstractmethods__
        """,
    "registered": """
        class $Like(<abc.ABC>): pass

        $Like.register(int)

        class $Other: pass
        -> meanwhile
        $Like.register($Other)
        -> sample isinstance(3, $Like), issubclass($Other, $Like), isinstance("", $Like)
        """,
    "metaclass": """
        class $Meta(type):
            def __new__(meta, name, bases, space, tag=0):
                space["tag"] = tag
                return super().__new__(meta, name, bases, space)

            def __init__(cls, name, bases, space, tag=0):
                super().__init__(name, bases, space)

            def __len__(cls):
                return 7

        class $K(metaclass=$Meta, tag=<number>):
            def value(self, n): return n + self.tag
        -> class $K
        -> sample $K.tag, len($K), $K().value(1)
        """,
    "told of subclasses": """
        class $Base:
            seen = {}

            def __init_subclass__(cls, /, key=0, **options):
                super().__init_subclass__(**options)
                cls.key = key

        class $K($Base, key=<number>):
            def value(self, n): return self.key
        -> class $K
        -> sample $K.key
        """,
    "exception": """
        class $Failed(LookupError):
            def __init__(self, what="", *, code=<number>):
                super().__init__(what)
                self.code = code

        def $f(n):
            try:
                raise $Failed(str(n))
            except $Failed as failed:
                return failed.code + len(failed.args)
        -> function $f
        -> sample str($Failed("a b"))
        """,
    "named tuples": """
        $Pair = <collections.namedtuple>("$Pair", "a b", defaults=[<pure>])

        class $Row(<typing.NamedTuple>):
            pair: $Pair
            n: <hint> = <number>

            def total(self): return self.pair.b + self.n
        -> hint $Pair
        -> sample $Row($Pair(1)).total(), $Pair(1, 2), $Row._fields
        """,
    "names for types": """
        $T = <typing.TypeVar>("$T", bound=<hint>)

        $Id = <typing.NewType>("$Id", int)

        $Ids = list[$Id]

        $Maybe = <typing.Optional>[$Ids]

        $Number: <typing.TypeAlias> = "int | float"

        $Either = int | str

        def $same(x: $T, ids: $Maybe = None, *rest: $Either) -> $T:
            return x
        -> hint $Id
        -> hint $Ids
        -> hint $Maybe
        -> hint $Either
        -> sample $same($Id(3)), $Either, $T.__name__
        """,
    "typed": """
        class $Row(<typing.TypedDict>, total=False):
            a: int
            b: <hint>

        @<typing.runtime_checkable>
        class $Sized(<typing.Protocol>):
            def value(self, n: int) -> int: ...

        def $f(n: int, sized: $Sized = <class>()):
            return sized.value(n) + len($Row(a=n))
        -> function $f
        -> sample $Row(a=1), isinstance(<class>(), $Sized)
        """,
    "generic": """
        $T = <typing.TypeVar>("$T")

        class $Box(<typing.Generic>[$T]):
            def __init__(self, n: $T): self.n = n

        class $IntBox($Box[int]):
            def __init__(self): super().__init__(<pure>)

            def value(self, n): return self.n + n
        -> class $IntBox
        -> hint $Box[int]
        -> sample $IntBox().value(3)
        """,
    "class made by a call": """
        $K = type("$K", (), {"size": <pure>, "value": lambda self, n: n + self.size})

        $Point = <dataclasses.make_dataclass>("$Point", ["x", "y"])
        -> class $K
        -> sample $K().value(3), $Point(1, 2)
        """,
    # Constants.
    "literals": """
        $TEXT = "a\\tb {not} \\N{BULLET} 'quoted'"

        $RATE = -1.5e3 + 2j

        $TABLE = {"a": [1, 2, {3}], b"\\0": (None, ...), 1_000: <pure>}

        _$PRIVATE = 0x1F

        $limit: <typing.Final> = <pure>
        -> pure _$PRIVATE
        -> pure $limit
        -> sample $TEXT, $RATE, $TABLE
        """,
    "pure expressions": """
        $DAY = 60 * 60 * <pure>

        $SQUARES = [n ** 2 for n in range(<pure> % 7)]

        $WORDS = "a b c".split()

        $LONGEST = max($WORDS, key=len) if $SQUARES else <pure>

        $NAMES = frozenset({"a"}) | {f"{w!r:>5}" for w in $WORDS}

        $PATTERN = <re.compile>(r"\\d+", <re.IGNORECASE>)

        $PATH = <pathlib.PurePosixPath>("data") / "x.csv"

        $HALF = <fractions.Fraction>(1, 2) + <math.floor>(<math.pi>)
        -> pure $DAY
        -> pure len($WORDS)
        -> sample $DAY, $SQUARES, $WORDS, $LONGEST, sorted($NAMES), $PATTERN, str($PATH), $HALF
        """,
    "several targets": """
        $LOW, $HIGH = <pure>, 9

        $LEFT = $RIGHT = [<pure>]

        ($FIRST, *$REST), $LAST = [1, 2, 3], 4
        -> pure $LOW
        -> pure $HIGH
        -> sample $LOW, $RIGHT, $LEFT is $RIGHT, $FIRST, $REST, $LAST
        """,
    "walrus": """
        ($LIMIT := <pure>)
        -> pure $LIMIT
        """,
    "constant of functions": """
        $TABLE = {"f": <function>, "len": len}
        -> sample $TABLE["f"](3)
        """,
    "constant again": """
        $LIMIT = 1

        $LIMIT = <pure>

        def $f(n): return n + $LIMIT
        -> function $f
        """,
    "plain variables": """
        $plain = <pure>

        $plain_list = [$plain, 2]

        def $f(n, by=$plain, rest=$plain_list):
            return n + by + len(rest)
        -> function $f
        -> number $plain
        """,
    "plain variable, set again": """
        $plain = <pure>

        def $f(n, by=$plain):
            return n + by

        $plain = "another"
        -> function $f
        """,
    # What is put on others.
    "methods": """
        class $K:
            def value(self, n): return n

        $K.grow = lambda self, by=<pure>: self.value(by)

        def $shrink(self): return -self.value(2)

        $K.shrink = $shrink
        -> meanwhile
        $K.size = property(lambda self: <pure>)

        $K.make = classmethod(lambda cls: cls().size)
        -> keeps $K.grow
        -> keeps $K.shrink
        -> keeps $K.size
        -> keeps $K.make
        -> sample $K().grow(), $K().shrink(), $K().size, $K.make()
        """,
    "methods by a decorator": """
        def $add_to(cls):
            def put(function):
                setattr(cls, function.__name__, function)

            return put

        class $A: pass

        class $B: pass

        @$add_to($A)
        def grow(self, by=<number>): return by

        @$add_to($B)
        def grow(self): return <pure>
        -> keeps $A.grow
        -> keeps $B.grow
        -> sample $A().grow(), $B().grow()
        """,
    "method put anew": """
        class $K: pass

        $K.m = lambda self: 1

        def $w(f): return lambda self: f(self) + 1

        $K.m = $w($K.m)
        -> keeps $K.m
        -> sample $K().m()
        """,
    "generic function": """
        @<functools.singledispatch>
        def $area(shape): return 0

        class $Square: side = <number>

        @$area.register
        def _(shape: int): return shape

        @$area.register
        def _(shape: $Square): return shape.side ** 2
        -> meanwhile
        @$area.register(str)
        @$area.register(bytes)
        def _(shape): return len(shape)
        -> keeps $area@int
        -> keeps $area@$Square
        -> keeps $area@str
        -> keeps $area@bytes
        -> sample $area(5), $area($Square()), $area("abc"), $area(b""), $area(1.5)
        """,
    "generic function, by name": """
        @<functools.singledispatch>
        def $show(x): return "?"

        @$show.register(list)
        def $show_list(x): return [$show(each) for each in x]

        @$show.register
        def $show_number(x: int | float): return x + 1
        -> keeps $show@list
        -> sample $show([1, "a", [2.5]]), $show_list([])
        """,
    "generic method": """
        class $K:
            @<functools.singledispatchmethod>
            def m(self, x): return 0

        @$K.m.register
        def _(self, x: int): return x
        -> keeps $K.m@int
        -> sample $K().m(3), $K().m("")
        """,
    "property at top level": """
        @property
        def $x(self): return self.v

        @$x.setter
        def $x(self, v): self.v = v * 2

        class $K: pass

        $K.x = $x

        def $f(n):
            k = $K()
            k.x = n
            return k.x
        -> keeps $K.x
        -> sample $f(3)
        """,
    "overloads": """
        @<typing.overload>
        def $f(n: int) -> int: ...

        @<typing.overload>
        def $f(n: str) -> str: ...

        def $f(n): return n
        -> function $f
        """,
    # Blocks.
    "if": """
        if <sys.version_info> >= (3, 8):
            $LIMIT = 1

            def $f(n):
                return n + $LIMIT
        else:
            def $f(n): return n - 1
        -> function $f
        """,
    "try": """
        try:
            import nowhere_to_be_found
        except ImportError:
            nowhere_to_be_found = None

            class $K:
                def value(self, n): return n
        -> class $K
        """,
    "try, and an import": """
        try:
            from tomllib import loads as $plain_loads
        except ImportError:
            $plain_loads = None

        def $f(n, loads=$plain_loads):
            return $plain_loads(f"n = {int(n)}")["n"]
        -> function $f
        """,
    # Imports and texts.
    "imported by star": """
        from math import *

        def $f(n, by=gcd(4, 6)):
            return n + by + factorial(3)
        -> function $f
        """,
    "imported submodule": """
        import xml.dom.minidom, collections.abc as $abc

        def $f(n, kind: $abc.Sized = $abc.Sized):
            return len(xml.dom.minidom.parseString(f"<A n='{n}'/>").firstChild.tagName)
        -> function $f
        """,
    "imported when called": """
        def $f(n):
            from bisect import bisect as here
            import string

            return here([1, 2], n) + len(string.digits)
        -> function $f
        """,
    "one line": """
        $A1 = 1; $B1 = 2

        def $f(n): m = n; return m

        $C1 = 3; $g = lambda n: n
        -> function $f
        -> function $g
        -> sample $A1, $B1, $C1
        """,
    "lines that go on": """
        $SUM = 1 + \\
            2

        def $f(n, \\
               by=(
            <number>
        )):
            return n + \\
                by
        -> function $f
        -> sample $SUM
        """,
    "texts": """
        def $f(n):
            r'''A raw \\d, a "quote",
        a line at the margin \\
            and a tab:	.'''
            text = f"{n!r:>{n % 3 + 2}}" f'{"a" "b"}'
            return len(text) + len(\"\"\"
        x = 1  # no comment
        \"\"\")
        -> function $f
        -> sample $f.__doc__
        """,
    "other letters": """
        def $größe(n): return n

        def $gro\u0308\u00dfer(n): return n + 1

        $面積 = lambda n: n * 2

        def $\ufb01n(n): return "\U0001f600é" * 2

        $ΔT = <typing.NewType>("$ΔT", float)
        -> function $größe
        -> function $面積
        -> sample $fin(1), $gr\u00f6\u00dfer(1)
        """,
    "twins but for case": """
        def $area(n): return n

        class $AREA:
            def value(self, n): return n + 1

        def $Area(n): return n + 2

        def $aREA(n): return n + 3
        -> function $area
        -> function $aREA
        -> sample $Area(1), $AREA().value(1)
        """,
    "long name": f"""
        def ${"long_" * 45}(n): return n

        def ${"ö" * 60}{"_" * 60}(n): return n + 1

        def _$helper__(n): return n
        -> function ${"long_" * 45}
        -> function _$helper__
        -> sample ${"ö" * 60}{"_" * 60}(1)
        """,
    "layout": """
        class   $K (  ) :

            x=1 ;  y = 2   # both



            def value ( self,n ) :
            \treturn n  ;

            # the end of it
        -> class $K
        """,
}

_PLACE = re.compile(r"<((?:own |spare )?(?:function|class)(?: \w)?|[a-z_]+(?:\.\w+)*)>")
_APART = "# Apart.\n"  # by an empty line: no part of the definition
_COMMENTS = ["# Above.", "# Above,\n#\n#   and more: λ → é", _APART]


@dataclass(frozen=True, slots=True)
class Module:
    """Cells, and what is to be left of them; their names begin with m0_ and M0_ until they are numbered."""

    cells: tuple[str, ...]
    kept: tuple[str, ...]
    gone: tuple[str, ...]
    samples: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]  # a kept name and what is to be found in the text of its definition

    def numbered(self, number: int) -> Module:
        """The same with names of its own among others."""

        def renamed(text: str) -> str:
            return text.replace("m0_", f"m{number}_").replace("M0_", f"M{number}_")

        cells, kept, gone, samples = (
            tuple(map(renamed, part)) for part in (self.cells, self.kept, self.gone, self.samples)
        )
        return Module(cells, kept, gone, samples, tuple((renamed(name), renamed(text)) for name, text in self.texts))

    def __str__(self) -> str:
        return "\n# %%\n".join(self.cells)


@dataclass(slots=True)
class _Offer:
    """An expression that others may use, and the names it is of."""

    text: str
    names: frozenset[str]


@dataclass(slots=True)
class _Writer:
    """Writes one module, form by form."""

    draw: st.DrawFn
    imports_first: bool
    statements: list[str] = field(default_factory=list)
    kept: dict[str, str | None] = field(default_factory=dict)  # name → what is in its text, if that can be told
    gone: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    offers: dict[str, list[_Offer]] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)  # what a name reads when it is called
    fixed: set[str] = field(default_factory=set)  # names that others were made with
    used: set[str] = field(default_factory=set)
    changing: frozenset[str] = frozenset()  # what the form that is being written gives another meaning
    imports: set[str] = field(default_factory=set)
    count: int = 0

    def one_of(self, choices: list[_T]) -> _T:
        return self.draw(st.sampled_from(choices))

    def chance(self) -> bool:
        return self.one_of([False, True])

    def add(self, form: str, depth: int = 0) -> None:
        """Write a form."""
        number, self.count = self.count, self.count + 1
        lines = [line.removeprefix(" " * 8) for line in FORMS[form].splitlines()]
        template = "\n".join(lines).strip("\n ")
        chosen: dict[str, str] = {}
        others_changing = self.changing
        reads: set[str] = set()

        def name(match: re.Match[str]) -> str:
            return f"{'M' if match[1][0].isupper() else 'm'}0_{number}_{match[1]}"

        def place(match: re.Match[str]) -> str:
            what = match[1]
            if what not in chosen:
                text = self.filled(what, reads)
                if " " not in what:
                    return text
                chosen[what] = text
            return chosen[what]

        text = _PLACE.sub(place, re.sub(r"\$(\w+)", name, template))
        self.changing = others_changing
        own: set[str] = set()
        for block, directive in _parts(text):
            for statement in _statements(block):
                own |= self.state(statement)
            match directive.split(" ", 1):
                case ["meanwhile"] if depth < 2 and self.chance():
                    self.add(self.one_of([*FORMS]), depth + 1)
                case ["keeps", key]:
                    self.kept[key] = None
                    owner, _, registered = key.partition("@")
                    self.used.add(owner.partition(".")[0])
                    if registered:
                        self.fix(frozenset({owner}))
                case ["gone", key]:
                    self.anew(key)
                    del self.kept[key]
                    self.gone.append(key)
                case ["anew", key]:
                    self.anew(key)
                case ["sample", sample]:
                    self.samples.append(sample)
                case [kind, expression] if kind in ("function", "class", "number", "pure", "hint", "decorator"):
                    self.offer(kind, expression)
        for each in own:
            self.calls.setdefault(each, set()).update(reads)
        for key, what in chosen.items():
            if key.startswith("own"):
                self.offers[key.split()[1]].append(_Offer(what, frozenset({what})))

    def state(self, statement: str) -> set[str]:
        """Write a statement, perhaps with comments; gives the names it sets."""
        if not statement.startswith("del ") and self.one_of([False, False, True]):
            comment = self.one_of(_COMMENTS)
            statement = f"{comment}\n{statement}"
        tree = ast.parse(statement).body
        if len(tree) == 1 and not statement.rpartition("\n")[2].lstrip().startswith("#") and self.chance():
            statement += "  # behind"
        self.statements.append(statement)
        names = {name for node in tree for name in _set_by(node)}
        # What stands in a block or beside another on its line is written in another way.
        exact = len(tree) == 1 and not isinstance(tree[0], ast.If | ast.Try)
        for name in names:
            self.kept[name] = statement.removeprefix(_APART).lstrip() if exact else None
        return names

    def offer(self, kind: str, expression: str) -> None:
        names = frozenset(re.findall(r"_?[mM]0_\w+", expression))
        self.offers.setdefault(kind, []).append(_Offer(expression, names))
        text = self.kept.get(expression) or "def "
        if not re.search(r"^(async )?(def|class) |^@", text, re.MULTILINE):
            self.fixed.add(expression)
            self.used.add(expression)
        if kind == "function":
            self.samples.append(f"{expression}(3)")
            self.offers.setdefault("number", []).append(_Offer(f"{expression}(2)", names))

    def anew(self, name: str) -> None:
        """What was said of `name` is so no longer."""
        self.samples = [sample for sample in self.samples if name not in sample]
        for kind, offers in self.offers.items():
            self.offers[kind] = [offer for offer in offers if name not in offer.names]

    def fix(self, names: frozenset[str]) -> None:
        """`names` are read as something loads, and with them whatever they call: from now on they stay as they are."""
        called = self.called_by(names)
        self.fixed |= called
        self.used |= called

    # What stands in the places.

    def filled(self, what: str, reads: set[str]) -> str:
        """The text for the place `what`; the names that are read when it is called are added to `reads`."""
        match what.split():
            case ["own" | "spare" as how, kind, _]:
                return self.free(kind, with_used=how == "own")
            case [kind, *_] if kind in ("function", "class"):
                return self.taken(kind) or self.made(kind)
            case ["number"]:
                return (self.chance() and self.taken("number")) or self.taken("pure") or self.literal()
            case ["pure"]:
                return (self.chance() and self.taken("pure")) or self.literal()
            case ["n"]:
                return self.called(reads)
            case ["hint"]:
                taken = self.taken("hint") if self.chance() else ""
                return (repr(taken) if self.chance() else taken) if taken else self.one_of(_HINTS)
            case ["decorator"]:
                taken = self.taken("decorator") if self.chance() else ""
                return taken or self.imported("functools", self.one_of(["lru_cache", "cache"]))
            case ["parameters"]:
                return self.parameters()
            case ["doc"]:
                return self.one_of(_DOCS)
        module, _, attribute = what.rpartition(".")
        return self.imported(module, attribute)

    def literal(self) -> str:
        return str(self.draw(st.integers(0, 9)))

    def taken(self, kind: str) -> str:
        """An offer of this kind, which stays as it is from now on; empty where there is none."""
        offers = self.offered(kind)
        if not offers:
            return ""
        offer = self.one_of(offers)
        self.fix(offer.names)
        return offer.text

    def offered(self, kind: str) -> list[_Offer]:
        """What is offered and does not call what is being changed: it would go round and round."""
        return [offer for offer in self.offers.get(kind, ()) if self.changing.isdisjoint(self.called_by(offer.names))]

    def called_by(self, names: frozenset[str]) -> set[str]:
        """`names` and whatever they call."""
        found: set[str] = set()
        todo = [*names]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self.calls.get(name, ())
        return found

    def made(self, kind: str) -> str:
        self.add(kind)
        return self.taken(kind)

    def free(self, kind: str, *, with_used: bool) -> str:
        """A name that can still be changed; not on offer until the form is written."""
        taken = self.fixed if with_used else self.used
        offers = [offer for offer in self.offers.get(kind, ()) if offer.names.isdisjoint(taken)]
        if not offers:
            self.add(kind)
            offers = self.offers[kind][-1:]
        offer = self.one_of(offers)
        for key, others in self.offers.items():
            self.offers[key] = [other for other in others if other.names.isdisjoint(offer.names)]
        self.changing |= offer.names
        return offer.text

    def called(self, reads: set[str]) -> str:
        """An int from n, made when it is called."""
        text = "n"
        for _ in range(self.one_of([0, 1, 2])):
            functions, classes = self.offered("function"), self.offered("class")
            offers = [*functions, *classes, *self.offered("pure")]
            if not offers:
                return f"{text} + {self.literal()}"
            offer = self.one_of(offers)
            reads |= offer.names
            self.used |= offer.names
            if offer in functions:
                text = f"{offer.text}({text})"
            elif offer in classes:
                text = f"{offer.text}().value({text})"
            else:
                text = f"({text} + {offer.text})"
        return text

    def parameters(self) -> str:
        hint = f": {self.filled('hint', set())}" if self.chance() else ""
        parts = [f"n{hint}"]
        if self.chance():
            parts.append("/")
        if self.chance():
            parts.append(f"by{hint}{' = ' if hint else '='}{self.filled('number', set())}")
        star = self.one_of(["", "*rest", "*"])
        parts += [star] if star else []
        if star == "*" or self.chance():
            parts.append(f"key={self.filled('number', set())}")
        if self.chance():
            parts.append("**options")
        return ", ".join(parts)

    def imported(self, module: str, attribute: str) -> str:
        """The expression by which `attribute` of `module` is read, imported in one of several ways."""
        package, _, last = module.rpartition(".")
        ways = [
            (f"import {module}", f"{module}.{attribute}"),
            (f"import {module} as m0_{last}", f"m0_{last}.{attribute}"),
            (f"from {module} import {attribute}", attribute),
            (f"from {module} import {attribute} as m0_{attribute}", f"m0_{attribute}"),
        ]
        if package:
            ways.append((f"from {package} import {last}", f"{last}.{attribute}"))
        statement, expression = self.one_of(ways)
        if statement not in self.imports:
            self.imports.add(statement)
            if self.imports_first:
                self.statements.insert(0, statement)
            else:
                self.statements.append(statement)
        return expression


_HINTS = ["int", '"int"', "object", "int | None", "list[int]", "'dict[str, int]'", "tuple[int, ...]"]
_DOCS = [
    "...",
    '"""Says so."""',
    "'''Two lines: \\\\d,\n    a \"quote\" and \\u00e9 é.\n\n    '''",
    'r"""Raw: \\d \\N."""',
    "# only a comment\n    pass",
]


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The statements of a form up to each directive, and that."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("-> "):
            yield "\n".join(block), line.removeprefix("-> ")
            block = []
        else:
            block.append(line)
    yield "\n".join(block), ""


def _statements(block: str) -> list[str]:
    return [part for part in re.split(r"\n\n(?=\S)", block.strip("\n")) if part]


def _set_by(node: ast.stmt) -> Iterator[str]:
    """The names that `node` defines at top level."""
    targets: list[ast.expr] = []
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if "0_" in name:
                yield name
        case ast.Assign(targets=found):
            targets = found
        case ast.AnnAssign(target=found) | ast.Expr(value=ast.NamedExpr(target=found)):
            targets = [found]
        case ast.If(body=body) | ast.Try(body=body):
            for inner in body:
                yield from _set_by(inner)
            for handler in getattr(node, "handlers", ()):
                for inner in handler.body:
                    yield from _set_by(inner)
    while targets:
        match targets.pop():
            case ast.Name(id=name) if "0_" in name and "_plain" not in name:
                yield name
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                targets += elements
            case ast.Starred(value=target):
                targets.append(target)


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """A module of up to four forms, and those that they need."""
    writer = _Writer(draw, draw(st.booleans()))
    for form in draw(st.lists(st.sampled_from([*FORMS]), min_size=1, max_size=4)):
        writer.add(form)
    cells: list[list[str]] = [[]]
    for statement in writer.statements:
        if cells[-1] and draw(st.sampled_from([False, False, False, True])):
            cells.append([])
        cells[-1].append(statement)
    space = draw(st.sampled_from(["\n", "\n\n\n"]))
    return Module(
        tuple(space.join(cell) for cell in cells),
        tuple(unicodedata.normalize("NFKC", name) for name in writer.kept),
        tuple(writer.gone),
        tuple(dict.fromkeys(writer.samples)),
        tuple((name, text) for name, text in writer.kept.items() if text is not None),
    )
