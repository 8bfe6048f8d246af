"""What a test sees of a page of HTML: its tags, its texts, its colours."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "input"}


class Page(HTMLParser):
    """The tags of a page, and its texts with the tags that they stand in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A place where a line may be broken is part of a text.
        if tag == "wbr":
            return
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Within a picture a tag may end where it starts.
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((" ".join(self.open), data))

    def inside(self, tag: str) -> list[str]:
        """Whole text of each place with ``tag`` innermost."""
        return ["".join(t for place, t in self.texts if place.split()[-1:] == [tag])]

    def values(self, name: str) -> list[str]:
        """Every value of an attribute."""
        return [values[name] or "" for _, values in self.attributes if name in values]


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def themes(text: str) -> list[dict[str, str]]:
    """Colours of each theme of a page."""
    found = re.findall(r":root \{([^}]*)\}", text)
    return [dict(re.findall(r"--([\w-]+): #(\w+)", theme)) for theme in found]


def contrast(one: str, other: str) -> float:
    """Contrast of two colours as WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
