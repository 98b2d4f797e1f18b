"""Forms of constants, and of plain variables that definitions need to load. See modules.py."""

from __future__ import annotations

CONSTANTS = {
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
}
