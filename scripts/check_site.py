"""Look through the built documentation: nothing from a network, no broken link, a text for every image.

`make docs` runs it after the build: python scripts/check_site.py docs/_build/html
"""

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a page loads by itself; an <a> waits for a click.
LOADED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
# Links that name a page and load nothing.
NAMED = {"next", "prev", "index", "search", "author", "copyright", "license", "canonical", "top", "up", "contents"}
IN_CSS = re.compile(r"(?:@import\s+|url\(\s*)['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """What one page loads, links to and names."""

    path: Path
    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    without_text: list[str] = field(default_factory=list)
    language: str | None = None
    _in_style: bool = False

    def __post_init__(self):
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names.update(given[key] for key in ("id", "name") if given.get(key))
        if tag == "html":
            self.language = given.get("lang")
        if tag == "img" and not given.get("alt"):
            self.without_text.append(given.get("src") or "?")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and set((given.get("rel") or "").split()) & NAMED:
            return
        self.loaded += [given[key] for key in LOADED.get(tag, ()) if given.get(key)]
        self.loaded += IN_CSS.findall(given.get("style") or "")
        self._in_style = tag == "style"

    def handle_data(self, data):
        if self._in_style:
            self.loaded += IN_CSS.findall(data)

    def handle_endtag(self, tag):
        self._in_style = False


def is_elsewhere(address):
    return bool(urlsplit(address).netloc)


def problems(folder):
    """One line for each thing that is wrong in a folder of pages."""
    folder = Path(folder).resolve()
    # The theme keeps a template among its files.
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = [] if pages else [f"{folder.name}: no pages"]
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        found += [f"{name}: loads {address}" for address in page.loaded if is_elsewhere(address)]
        found += [f"{name}: no text for image {address}" for address in page.without_text]
        found += [f"{name}: leads nowhere, {link}" for link in page.links if not _leads(link, path, pages)]
        found += [] if page.language else [f"{name}: says no language"]
    for path in sorted(folder.rglob("*.css")):
        name = path.relative_to(folder).as_posix()
        found += [f"{name}: loads {address}" for address in IN_CSS.findall(path.read_text(encoding="utf-8"))]
    return found


def _leads(link, path, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True  # elsewhere: nobody asks the network here
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not parts.fragment or target not in pages:
        return target.is_file()
    return unquote(parts.fragment) in pages[target].names


def main():
    folder = Path(sys.argv[1])
    found = problems(folder)
    print(
        "\n".join(found) or f"{len(list(folder.rglob('*.html')))} pages: all links lead somewhere, nothing is fetched"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
