"""The scripts of the page: ES modules, joined in the order of their imports into one text without imports."""

import re
from collections.abc import Callable, Sequence

_IMPORT = re.compile(r'^import (?:\{([^{}]*)\} from )?"\./(\w+\.js)";\n', re.MULTILINE)
_DECLARATION = re.compile(r"^(export )?(?:async )?(?:function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|let|class) )", re.MULTILINE)
_MODULE_WORD = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://.*|/\*\*.*\*/)\n", re.MULTILINE)

Read = Callable[[str], str]


def module_order(entry: str, read: Read) -> list[str]:
    """The modules that `entry` needs, each after those that it imports; `read` gives a module's text by its name."""
    order, open_modules = list[str](), list[str]()

    def visit(name: str) -> None:
        if name in open_modules:
            msg = f"Modules import each other: {' -> '.join([*open_modules, name])}."
            raise ValueError(msg)
        if name not in order:
            open_modules.append(name)
            for _, imported in _IMPORT.findall(read(name)):
                visit(imported)
            order.append(open_modules.pop())

    visit(entry)
    return order


def bundle(entry: str, read: Read, *, loaded: Sequence[str] = ()) -> str:
    r"""The text of a module and of all that it imports, except of those that the page has `loaded` before.

    All names are in one scope: two modules that declare the same name, and imports of what is not exported, raise.

    >>> modules = {"a.js": "export const one = 1;\n", "b.js": 'import { one } from "./a.js";\n\nalert(one);\n'}
    >>> bundle("b.js", modules.__getitem__)
    'const one = 1;\nalert(one);\n'
    """
    order = module_order(entry, read)
    _check_names({name: read(name) for name in [*loaded, *order]})
    return "".join(_plain(name, read(name)) for name in order if name not in loaded)


def _check_names(texts: dict[str, str]) -> None:
    exported, declared_in = set[tuple[str, str]](), dict[str, str]()
    for module, text in texts.items():
        for export, name in _DECLARATION.findall(text):
            if name in declared_in:
                msg = f"{declared_in[name]} and {module} both declare {name!r}."
                raise ValueError(msg)
            declared_in[name] = module
            if export:
                exported.add((module, name))
    for module, text in texts.items():
        for names, imported in _IMPORT.findall(text):
            for name in filter(None, (name.strip() for name in names.split(","))):
                if (imported, name) not in exported:
                    msg = f"{module} imports {name!r}, which {imported} does not export."
                    raise ValueError(msg)


def _plain(module: str, text: str) -> str:
    """Without imports, exports, and lines that are only comments."""
    plain = _EXPORT.sub("", _IMPORT.sub("", text))
    if other := _MODULE_WORD.search(plain):
        msg = f"{module} has {other[0]!r}, which cannot be joined into one script."
        raise ValueError(msg)
    return _COMMENT.sub("", plain).lstrip("\n")
