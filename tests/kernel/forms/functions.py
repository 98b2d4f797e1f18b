"""Forms of functions: defined, decorated, made by calls. See modules.py."""

from __future__ import annotations

FUNCTIONS = {
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
        -> function $f
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
    "overloads": """
        @<typing.overload>
        def $f(n: int) -> int: ...

        @<typing.overload>
        def $f(n: str) -> str: ...

        def $f(n): return n
        -> function $f
        """,
}
