"""Frame of every page: the page loads nothing, and runs only its own style and script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from pqd.reports.writers.html.texts import bound, told

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, *, scripts: Sequence[str] = (), **context: object) -> str:
    """Page made from ``template``; whatever the page quotes is text, never a tag.

    ``scripts`` are the script files that this page needs beside ``page.js``.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    environment = _environment()
    script = "".join(_source(environment, name) for name in ("page.js", *scripts))
    style = _source(environment, "page.css")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.get_template(template).render(
        context,
        policy=Markup(policy),  # noqa: S704 - made of digests
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - the same
        version=_version(),
    )


def fragment(template: str, **context: object) -> str:
    """Piece of HTML for a notebook, with styles and without a script."""
    return _environment().get_template(template).render(context)


@cache
def _version() -> str:
    """Name and version of pqd; the name alone if pqd is not installed as a package."""
    try:
        return f"pqd {metadata.version('pqd')}"
    except metadata.PackageNotFoundError:
        return "pqd"


@cache
def _environment() -> Environment:
    """Environment of the templates; a process compiles each template once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - heavy

    environment = Environment(
        loader=PackageLoader("pqd.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_bound,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["unbroken"] = told
    return environment


def _bound(value: object) -> object:
    return bound(value) if type(value) is str else value


def _source(environment: Environment, name: str) -> str:
    loader = environment.loader
    return "" if loader is None else loader.get_source(environment, name)[0]


def _digest(text: str) -> str:
    """Digest of an inline style or script; a browser checks it before it accepts the text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
