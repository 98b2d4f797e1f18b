"""Layers to measure with: definitions of the kinds and sizes that people keep, under names drawn from real code."""

from __future__ import annotations

import ast
import keyword
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from perdure.layer.definition import Key, Kind
from perdure.layer.naming import path_of

from .home import Home

_ROOT = Path(__file__).parents[2]
_FUNCTION = '''def {name}(items, limit={number}, *others, **options):
    """What is left of the items that are over the limit."""
    total, seen = 0, set()
    for item in items:
        if item in seen:
            continue
        seen.add(item)
        if item > limit:
            total += item * {number}
        elif item < 0:
            total -= limit
        else:
            total = max(total, item)
    for other in others:
        total += len(json.dumps(other))
    if options:
        total += math.floor(sum(options.values()))
    return total
'''
_CLASS = '''class {name}:
    """Something with {number} sides."""

    sides = {number}

    def __init__(self, length, label=""):
        self.length = length
        self.label = label or type(self).__name__

    def around(self):
        return self.sides * self.length

    @property
    def area(self):
        return self.length ** 2 * self.sides / (4 * math.tan(math.pi / self.sides))

    def __repr__(self):
        return f"{{self.label}}({{self.length}})"
'''
_SHARES = ((Kind.FUNCTION, 0.65), (Kind.CLASS, 0.2), (Kind.VALUE, 0.15))


def definitions(count: int) -> dict[str, str]:
    """`count` files by path, of functions, classes and constants that import of the standard library alone."""
    return _some(random.Random(count), count, {})


def more(there: Mapping[str, str], count: int) -> dict[str, str]:
    """`count` more of the kind, none of which is in the file of one that is `there`."""
    return _some(random.Random(-count), count, there)


def _some(chance: random.Random, count: int, taken: Mapping[str, str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for name in _names(chance):
        (kind,) = chance.choices([kind for kind, _ in _SHARES], [share for _, share in _SHARES])
        number = chance.randrange(3, 1000)
        match kind:
            case Kind.FUNCTION:
                text = "import json\nimport math\n\n\n" + _FUNCTION.format(name=name, number=number)
            case Kind.CLASS:
                name = name.title().replace("_", "")
                text = "import math\n\n\n" + _CLASS.format(name=name, number=number)
            case _:
                name = name.upper()
                text = f"{name} = {{{number}: 'a', {number + 1}: ['b', {number}]}}\n"
        if (path := path_of(kind, Key(name))) not in taken:
            files.setdefault(path, text)
        if len(files) == count:
            break
    return files


def _names(chance: random.Random) -> Iterator[str]:
    """Names of functions and parameters of the standard library, each once, then two of them put together."""
    folder = Path(sysconfig.get_path("stdlib"))
    found: set[str] = set()
    for file in sorted(folder.glob("*.py")):
        nodes = ast.walk(ast.parse(file.read_bytes()))
        found |= {n.name if isinstance(n, ast.FunctionDef) else n.arg for n in nodes if isinstance(n, _NAMED)}
    names = sorted(name for name in {each.strip("_").lower() for each in found} if name.isidentifier())
    names = [name for name in names if len(name) > 2 and not keyword.iskeyword(name)]
    chance.shuffle(names)
    yield from names
    while True:
        yield f"{chance.choice(names)}_{chance.choice(names)}"


_NAMED = (ast.FunctionDef, ast.arg)


def made(folder: Path, files: dict[str, str]) -> Home:
    """A home whose layer has the files, committed."""
    home = Home(folder)
    script = (
        "from pathlib import Path\nimport sys\nsys.path.insert(0, sys.argv[2])\n"
        "from perdure.layer.disk import RealDisk\nfrom perdure.layer.opening import open_layer\n"
        "from perdure.layer.place import Homes, Origin, Place\nfrom perdure.layer.store import Identity\n"
        "place = Place(Path(sys.argv[1]), 'layer', Origin.ENVIRONMENT)\n"
        "open_layer(place, Homes.of_user(), author=Identity('Ada', 'ada@example.org'), disk=RealDisk())\n"
    )
    subprocess.run([sys.executable, "-c", script, str(home.layer), str(_ROOT)], env=home.environ, check=True)
    for path, text in files.items():
        (home.layer / path).parent.mkdir(parents=True, exist_ok=True)
        (home.layer / path).write_text(text, encoding="utf-8")
    home.git("add", "-A")
    home.git("commit", "-qm", "definitions")
    # As kernels at rest would have left it.
    home.git("gc", "--quiet")
    for number in range(256):
        (home.layer / ".git" / "objects" / f"{number:02x}").mkdir(exist_ok=True)
    return home
