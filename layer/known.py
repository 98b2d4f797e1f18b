"""What is known of calls by the path they are imported under: which are pure, which make types. Data alone.

A call is pure when the same arguments give an equal result and nothing outside changes; that a result depends on the
version of the library is accepted, as it is for imports.
"""

from __future__ import annotations


def _paths(module: str, names: str) -> set[str]:
    return {f"{module}.{name}" for name in names.split()}


PURE_MODULES = frozenset("math cmath itertools statistics colorsys unicodedata textwrap".split())
"""Modules all of whose public functions are pure."""

PURE_CALLS = frozenset(
    _paths(
        "builtins",
        "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format "
        "frozenset hex int isinstance issubclass len list map max memoryview min object oct ord pow range repr "
        "reversed round set slice sorted str sum tuple type zip dict.fromkeys str.maketrans bytes.fromhex "
        "int.from_bytes float.fromhex",
    )
    | _paths("operator", "itemgetter attrgetter methodcaller add and_ or_ xor mul sub truediv floordiv mod neg not_")
    | _paths("re", "compile escape RegexFlag")
    | _paths("pathlib", "Path PurePath PosixPath PurePosixPath PureWindowsPath")
    | _paths("os.path", "join basename dirname splitext split normpath")
    | _paths("datetime", "date time datetime timedelta timezone date.fromisoformat datetime.fromisoformat")
    | _paths("datetime", "time.fromisoformat datetime.strptime date.fromordinal")
    | _paths("zoneinfo", "ZoneInfo")
    | _paths("decimal", "Decimal")
    | _paths("fractions", "Fraction")
    | _paths("uuid", "UUID")
    | _paths("collections", "OrderedDict Counter defaultdict deque ChainMap UserDict UserList")
    | _paths("itertools.chain", "from_iterable")
    | _paths("types", "MappingProxyType SimpleNamespace")
    | _paths("string", "Template")
    | _paths("struct", "Struct calcsize pack unpack")
    | _paths("json", "loads dumps")
    | _paths("ast", "literal_eval")
    | _paths("copy", "copy deepcopy")
    | _paths("hashlib", "sha256 sha1 md5 blake2b")
    | _paths("ipaddress", "ip_address ip_network ip_interface IPv4Address IPv6Address IPv4Network IPv6Network")
    | _paths("functools", "partial")
    | _paths("enum", "auto")
    | _paths(
        "numpy",
        "array asarray arange linspace logspace geomspace zeros ones full eye identity diag dtype float16 float32 "
        "float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ complex128 datetime64 timedelta64 radians "
        "deg2rad rad2deg sqrt exp log log2 log10 sin cos tan pi abs sum mean cumsum concatenate stack reshape "
        "finfo iinfo",
    )
    | _paths(
        "pandas",
        "Timestamp Timedelta Period Interval Index Series DataFrame Categorical CategoricalDtype DateOffset "
        "date_range to_datetime to_timedelta timedelta_range period_range",
    )
)

CALLED_BY = {
    **dict.fromkeys(_paths("builtins", "map filter"), 0),
    **dict.fromkeys(_paths("itertools", "starmap takewhile dropwhile filterfalse"), 0),
    **dict.fromkeys(_paths("itertools", "groupby accumulate"), 1),
}
"""Pure calls that call one of their arguments, and which; `key=` and `func=` are called by any."""

KEPT_FOR_LATER = frozenset({"functools.partial", "collections.defaultdict"})
"""Pure calls that only remember the function they are given."""

PURE_METHODS = frozenset(
    "split rsplit splitlines strip lstrip rstrip lower upper title capitalize casefold swapcase replace format "
    "format_map join encode decode zfill ljust rjust center removeprefix removesuffix partition rpartition translate "
    "expandtabs count index find rfind startswith endswith isdigit isalpha isupper islower keys values items get copy "
    "union intersection difference symmetric_difference issubset issuperset bit_length to_bytes as_integer_ratio "
    "conjugate hex total_seconds isoformat strftime timestamp date time weekday toordinal with_suffix with_name "
    "with_stem joinpath relative_to as_posix hexdigest digest reshape astype tolist transpose ravel flatten".split()
)
"""Methods of plain values that change nothing, whatever the value."""

IN_ANY_ORDER = frozenset(_paths("builtins", "sorted set frozenset len sum min max any all bool"))
"""Calls whose result does not hang on the order of what they go through, unless a key makes some of it alike."""

TO_ORDER = frozenset(
    _paths("builtins", "list tuple enumerate zip reversed str repr format bytearray bytes") | {"collections.deque"}
)
"""Calls whose result has the order of what they go through; so has everything of itertools."""

SET_METHODS = frozenset("union intersection difference symmetric_difference copy".split())
"""Methods by which a set makes another."""

RUNNING_ON = frozenset({"itertools.count"})
"""Calls whose result is where a session left it, and not after a restart."""

IN_STEP = frozenset({"builtins.zip"} | _paths("itertools", "islice takewhile"))
"""Calls that take no more of something that runs on than they need: `zip(NAMES, count())`."""

ASKING_FOR_NOW = frozenset(
    _paths("pandas", "Timestamp Period to_datetime date_range period_range") | {"numpy.datetime64"}
)
"""Calls that take the words of `NOW` for the clock."""

NOW = frozenset({"now", "today"})

IMPURE_ATTRIBUTES = frozenset(
    "os.environ os.environb sys.argv sys.path sys.modules sys.stdin sys.stdout sys.stderr sys.flags".split()
)
"""What is read by name alone and yet is input: differs from machine to machine, or holds what must not be kept."""

TYPE_MAKERS = frozenset(
    _paths("typing", "TypeVar TypeVarTuple ParamSpec NewType NamedTuple TypedDict TypeAliasType")
    | _paths("typing_extensions", "TypeVar TypeVarTuple ParamSpec NewType NamedTuple TypedDict TypeAliasType")
    | _paths("collections", "namedtuple")
    | _paths("enum", "Enum IntEnum StrEnum Flag IntFlag")
    | _paths("dataclasses", "make_dataclass")
    | _paths("types", "new_class")
    | _paths("builtins", "type")
)
"""Calls whose result is a type or stands for one in annotations."""
