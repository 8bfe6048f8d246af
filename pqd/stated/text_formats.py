"""Text formats as a caller states them: one for both tables, or one for each.

A file of metadata may state fields of a format, too; a field that the caller states goes before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from pqd.deciders.errors import ParameterError
from pqd.engine.reading.text_format import FIELDS, USUAL, Field, TextFormat

if TYPE_CHECKING:
    from pqd.engine.tables import Role, Table

ROLES: tuple[Literal["private"], Literal["synthetic"]] = ("private", "synthetic")
# What a caller of Python may state: one format, or one for each role.
StatedFormat = TextFormat | Mapping[str, TextFormat] | None
_LISTS = ("dates", "missing")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """Format that a file of metadata states by its columns; ``label`` is the name of the file.

    A table has one format.  ``conflicts`` say, of a field that the columns of the file state in
    different ways, which columns differ and what a caller can do.
    """

    text_format: TextFormat = USUAL
    conflicts: Mapping[Field, str] = field(default_factory=dict)
    label: str = ""

    def under(self, stated: TextFormat) -> TextFormat:
        """Format with the stated fields, and where none is stated with those of the file.

        Raises
        ------
        ParameterError
            If the columns of the file differ in a field that is not stated, or if a stated sign
            contradicts the file.
        """
        for name, conflict in self.conflicts.items():
            if getattr(stated, name) is None:
                raise ParameterError(f"metadata {self.label}: {conflict}")
        try:
            return stated.over(self.text_format)
        except ParameterError as error:
            raise ParameterError(
                f"metadata {self.label} and the stated signs contradict each other: {error}"
            ) from None


@dataclass(frozen=True, slots=True)
class TextFormats:
    """Formats of the cells of private tables, held-out ones too, and of synthetic tables."""

    private: TextFormat = USUAL
    synthetic: TextFormat = USUAL

    def table(self, given: object, role: Role) -> object:
        """Table that is ``given``, opened in its format; ``given`` itself in the usual format.

        None stays None.

        Raises
        ------
        TableError
            If it cannot be opened.
        """
        text_format = self.synthetic if role == "synthetic" else self.private
        if given is None or text_format == USUAL:
            return given
        return _opened(given, role, text_format)

    def over(self, file: FileFormat) -> TextFormats:
        """Formats with those fields of the file that are not stated; errors as ``under``."""
        return TextFormats(file.under(self.private), file.under(self.synthetic))

    def both(self, private: object, synthetic: object) -> tuple[object, object]:
        """Private and synthetic table, as ``table``."""
        return self.table(private, "private"), self.table(synthetic, "synthetic")

    def all(
        self,
        private: object,
        synthetics: Any,  # noqa: ANN401 - the comparison checks it
    ) -> tuple[object, Any]:
        """Private table, and synthetic tables by name, as ``table``."""
        secret = self.table(private, "private")
        if not isinstance(synthetics, Mapping):
            # The comparison itself says what is wrong.
            return secret, synthetics
        return secret, {name: self.table(each, "synthetic") for name, each in synthetics.items()}


def _opened(given: object, role: Role, text_format: TextFormat) -> Table:
    # Imported here, since the command line states formats before any large library is loaded.
    from pqd.engine.tables import open_table  # noqa: PLC0415

    return open_table(given, role, text_format)


def text_formats(stated: StatedFormat, file: FileFormat) -> TextFormats:
    """Formats that a caller of Python states, joined with that of a file of metadata.

    Raises
    ------
    ParameterError
        If it is neither a format nor a mapping of roles to formats, or as ``FileFormat.under``.
    """
    return _parsed(stated).over(file)


def _parsed(stated: StatedFormat) -> TextFormats:
    if stated is None:
        return TextFormats()
    if isinstance(stated, TextFormat):
        return TextFormats(stated, stated)
    if not isinstance(stated, Mapping) or not set(stated) <= set(ROLES):
        raise ParameterError(
            'text_format is a pqd.TextFormat, or one for each table: {"private": ..., '
            '"synthetic": ...}'
        )
    if wrong := [role for role, each in stated.items() if not isinstance(each, TextFormat)]:
        raise ParameterError(f'text_format["{wrong[0]}"] must be a pqd.TextFormat')
    return TextFormats(**stated)


def parse_text_formats(options: Mapping[str, Iterable[str]]) -> TextFormats:
    """Formats from texts of the command line, by the name of an option without its dashes.

    A text that begins with ``private=`` or ``synthetic=`` is of this table alone.

    Raises
    ------
    ParameterError
        If a text cannot be a part of a format, or one sign is stated twice.
    """
    formats = {}
    for role in ROLES:
        fields: dict[str, Any] = {}
        for name, texts in options.items():
            if (stated := _of_role(role, texts)) is None:
                continue
            if name == "missing":
                stated = [part.strip() for text in stated for part in text.split(",")]
            if name not in _LISTS and len(stated) > 1:
                raise ParameterError(
                    f"--{name} is stated twice for the {role} table; state it once"
                )
            fields[name] = tuple(stated) if name in _LISTS else stated[0]
        formats[role] = replace(USUAL, **fields)
    return TextFormats(**formats)


def _of_role(role: str, texts: Iterable[str]) -> list[str] | None:
    """Texts that are stated for a table; None if there are none."""
    pairs = [_with_role(text) for text in texts]
    own = [text for stated, text in pairs if stated == role]
    both = [text for stated, text in pairs if stated is None]
    return own or both or None


def _with_role(text: str) -> tuple[str | None, str]:
    role, sign, value = text.partition("=")
    return (role, value) if sign and role in ROLES else (None, text)


def format_of(facts: Mapping[str, Any], base: TextFormat = USUAL) -> TextFormat:
    """Format with the stated ``facts``, by the names of its fields; the rest is of ``base``."""
    own = {name: facts[name] for name in FIELDS if name in facts}
    return replace(base, **cast("dict[str, Any]", own)) if own else base
