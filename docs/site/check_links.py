"""Check a built site: every link inside leads somewhere, and nothing is loaded from outside.

``python docs/site/check_links.py out/docs`` ends with exit code 1 and a list if not. Links to other
sites are not followed: that needs a network, and says little about this documentation.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page offers (ids), links to, and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down ids, links and loaded files."""
        found = {key: value or "" for key, value in attrs}
        self.ids.update(found[key] for key in ("id", "name") if key in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag, "") in found:
            self.loaded.append(found[LOADED[tag]])


def problems(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere, and for each file loaded from outside."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    found = []
    for file, page in sorted(pages.items()):
        where = file.relative_to(site)
        for link in page.loaded:
            if urlsplit(link).scheme not in ("", "data") or link.startswith("//"):
                found.append(f"{where}: loads {link}")
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                found.append(f"{where}: {link} leads nowhere")
            elif parts.fragment and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{where}: {link} leads to a page without that heading")
    return found


def main(arguments: list[str]) -> int:
    """Print the problems of a site."""
    site = Path(arguments[0]).resolve()
    if not (site / "index.html").is_file():
        sys.stderr.write(f"{site}: there is no site here; `make docs` builds it.\n")
        return 2
    found = problems(site)
    for line in found:
        sys.stderr.write(f"{line}\n")
    pages = len(list(site.rglob("*.html")))
    sys.stdout.write(f"{pages} pages, {len(found)} broken links\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
