"""The frame of every page: nothing is loaded, and only the style and script written here run."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pqd.reports.text.escape import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# An option of two words or more, which a browser would break at its hyphens.
_OPTION = re.compile(r"(--[a-z]+(?:-[a-z]+)+)")


def page(template: str, **context: object) -> str:
    """Page of ``template``; whatever it quotes is text there, never a tag."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    environment = _environment()
    names = ("page.js", "many.js") if context.get("many") else ("page.js",)
    script = "".join(_source(environment, name) for name in names)
    style = _source(environment, "page.css")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    shared: dict[str, Any] = {
        "policy": Markup(policy),  # noqa: S704 - made of digests
        "style": Markup(style),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704 - the same
        "refused": (),
        "many": None,
        "meaning": "",
        "made": ", ".join([*([str(context["day"])] if context.get("day") else []), _version()]),
    }
    return environment.get_template(template).render(shared | context)


@cache
def _version() -> str:
    """Name and version of what makes the page; the name alone where it is not installed."""
    try:
        return f"pqd {metadata.version('pqd')}"
    except metadata.PackageNotFoundError:
        return "pqd"


def fragment(template: str, **context: object) -> str:
    """Piece of HTML for a notebook: styled, without a script."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    """Templates, compiled once for all pages of a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - heavy

    environment = Environment(
        loader=PackageLoader("pqd.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["unbroken"] = _unbroken
    return environment


def _harmless(value: object) -> object:
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    return visible(value, keep="\n")


def _unbroken(text: str) -> str | Markup:
    """Sentence whose options are not broken at their hyphens."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with Jinja2

    first, *rest = _OPTION.split(text)
    if not rest:
        return text
    shown = [escape(_harmless(part)) for part in (first, *rest)]
    for place in range(1, len(shown), 2):
        shown[place] = Markup('<span class="word">{}</span>').format(shown[place])
    return Markup("").join(shown)


def _source(environment: Environment, name: str) -> str:
    loader = environment.loader
    return "" if loader is None else loader.get_source(environment, name)[0]


def _digest(text: str) -> str:
    """Digest that a browser compares an inline style or script with before it takes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
