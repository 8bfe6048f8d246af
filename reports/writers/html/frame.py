"""The frame of every page: nothing is loaded, and only the style and script written here run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from pqd.reports.writers.html.texts import harmless, told

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, *, scripts: Sequence[str] = (), **context: object) -> str:
    """Page of ``template``; whatever it quotes is text there, never a tag.

    ``scripts`` are the files that it needs beside that of all pages.
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
    """Piece of HTML for a notebook: styled, without a script."""
    return _environment().get_template(template).render(context)


@cache
def _version() -> str:
    """Name and version of what makes the page; the name alone where it is not installed."""
    try:
        return f"pqd {metadata.version('pqd')}"
    except metadata.PackageNotFoundError:
        return "pqd"


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
    environment.filters["unbroken"] = told
    return environment


def _harmless(value: object) -> object:
    return harmless(value) if type(value) is str else value


def _source(environment: Environment, name: str) -> str:
    loader = environment.loader
    return "" if loader is None else loader.get_source(environment, name)[0]


def _digest(text: str) -> str:
    """Digest that a browser checks before it accepts an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
