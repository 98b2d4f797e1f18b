"""Forms of classes and of names for types. See modules.py."""

from __future__ import annotations

CLASSES = {
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
}
