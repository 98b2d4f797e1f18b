"""The files that make the folder of a layer a Python package without perdure (DESIGN §4).

They are generated once, when the layer is made, and then the user's. Owns their names and the format number; their
texts are the templates in package/.
"""

from __future__ import annotations

from pathlib import Path

from .definition import RelPath

FORMAT = 1
"""The version of the folder's layout, as `[tool.perdure] format` in pyproject.toml tells it."""

_TEMPLATES = {
    RelPath("__init__.py"): "init.py.txt",
    RelPath("__main__.py"): "main.py.txt",
    RelPath("pyproject.toml"): "pyproject.toml.txt",
    RelPath("setup.py"): "setup.py.txt",
    RelPath(".gitignore"): "gitignore.txt",
}

GENERATED = frozenset(_TEMPLATES)
"""The paths of the generated files."""


def generated_files(name: str) -> dict[RelPath, bytes]:
    """The files of the layer `name`, which is of a to z, 0 to 9 and underscores (`place.layer_name`)."""
    from importlib.resources import files  # here: asked for only where a layer is made

    folder = files(__package__) / "package"
    texts = {path: (folder / template).read_text(encoding="utf-8") for path, template in _TEMPLATES.items()}
    return {path: _filled(text, f"layer_{name}").encode() for path, text in texts.items()}


def is_as_generated(pyproject: str) -> bool:
    """Whether a text is the pyproject.toml that is generated for some layer: then its format is FORMAT.

    Nearly every one is, and telling it so is quicker than reading TOML, for which a start would wait.
    """
    package = pyproject.partition('packages = ["')[2].partition('"')[0]
    template = Path(__file__).with_name("package") / _TEMPLATES[RelPath("pyproject.toml")]
    return bool(package) and pyproject == _filled(template.read_text(encoding="utf-8"), package)


def _filled(template: str, package: str) -> str:
    # The name of a project may not end in an underscore, that of a package may.
    for word, value in {"@package@": package, "@project@": package.rstrip("_"), "LAYER": package}.items():
        template = template.replace(word, value)
    return template
