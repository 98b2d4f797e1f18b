"""Forms that change what is there: stages, another in its place, what is put on it or deleted. See modules.py."""

from __future__ import annotations

CHANGES = {
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
        -> class $K
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
        def grow(self, by=<pure>): return by

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
        -> function $area
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
    "generic function, replaced": """
        @<functools.singledispatch>
        def $area(n): return 0

        @$area.register
        def _(n: int): return n
        -> meanwhile
        def $area(n): return n + 1
        -> keeps $area@int
        -> gone $area@int
        -> function $area
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
    "class with methods, replaced": """
        class $K: pass

        $K.m = lambda self: 1

        def $K(n): return n + 2
        -> keeps $K.m
        -> gone $K.m
        -> sample $K(3)
        """,
    "class with methods, deleted": """
        class $K: pass

        $K.m = lambda self: 1

        $K.n = lambda self: 2

        del $K.m
        -> meanwhile
        del $K
        -> keeps $K.m
        -> keeps $K.n
        -> gone $K.m
        -> gone $K.n
        -> gone $K
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
        -> function $f
        """,
}
