"""Forms of blocks, imports, odd layouts and odd names. See modules.py."""

from __future__ import annotations

import sys

TEXTS = {
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

if sys.version_info >= (3, 12):
    TEXTS |= {
        "parameters for types": """
        type $Pairs[T] = list[tuple[T, $Id]]

        class $Id(int): pass

        def $first[T: ($Id, str)](pairs: $Pairs[T], by=<number>) -> T:
            return pairs[0][0]

        class $Stack[T]:
            def __init__(self, *items: T): self.items = items

            def top[K](self, key: K) -> T | K: return self.items[-1] if self.items else key

            def value(self, n): return n
        -> class $Stack
        -> hint $Stack[int]
        -> sample $first([(3, $Id(4))]), $Stack(1, 2).top(0), $Pairs.__name__, $Stack.__type_params__
        """,
    }
