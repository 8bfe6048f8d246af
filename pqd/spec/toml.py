"""The text of a spec file as TOML, and what is wrong where it is none."""

from __future__ import annotations

import re
import stat
import tomllib
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from pqd.errors import NO_PERMISSION
from pqd.spec.positions import longest_dotted_key, statements
from pqd.spec.problems import Code

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 1_000_000
_TOO_LONG = f"it has more than {LIMIT:,} characters; a spec is shorter (is it a table?)"
# A table of a column needs one; Python's reader takes the square of them in time.
_MOST_DOTS = 16
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_JSON = re.compile(r"\s*(\{|\[\s*\{)")
_YAML = re.compile(r"""\s*(- +)?([\w-]+|"[^"]*"|'[^']*'):(\s|$)|\s*- |---\s*$""")
_SQL = re.compile(r"\s*(SELECT\b|--)", re.IGNORECASE)
# What a line looks like that breaks the TOML, and what to do about it; the first that fits.
_HINTS = (
    (r"=\s*[+-]?[\d._]+\s*%", 'a share needs quotes, such as tau = "5%"'),
    (r'=\s*"[^"]*\\', "a backslash needs single quotes around the text, or write / in a path"),
    (r"""=\s*("{3}|'{3})""", "end the text with the three quotes that it begins with"),
    (
        r'=\s*("[^"]*"|\'[^\']*\')\s*[^\s#,\]}]',
        "a text that holds quotes goes between three single ones: sql = '''SELECT ...'''",
    ),
    (
        r"""=\s*("[^"]*|'[^']*)$""",
        "a text needs a quote at both ends, and over several lines three: sql = '''SELECT ...'''",
    ),
    (r"=\s*(True|False)\b", "TOML writes true and false in small letters"),
    (r"=\s*[A-Za-z]", 'text needs quotes, such as expect = "close"'),
    (r"=\s*$", "write a value after the ="),
    (r"^\s*\[\[?[^\]]*$|^\s*\[\[[^\]]*\]\s*$", "close the header, such as [private] or [[check]]"),
    (r"^[^=]*$", "write key = value, a header such as [private], or # before a comment"),
)
_TWICE = re.compile(r"Cannot |Duplicate ")
_CHECK = re.compile(r"\s*\[\[?\s*checks?\s*\]")
SINGLE_CHECK = "[check] is a single table; write [[check]], with two brackets, before each check"


class UnreadableError(ValueError):
    """A file that is no TOML; ``line`` is the line at fault, None where the whole file is.

    ``code`` is ``unreadable_file``, ``not_toml`` or ``duplicate``.

    The message quotes nothing of the file: a private table may have been given by mistake.
    """

    def __init__(self, message: str, line: int | None = None, code: Code = Code.NOT_TOML) -> None:
        """Keep the place and the code."""
        self.line, self.code = line, code
        super().__init__(message)


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Text of a file and its content; decimals stay exact.

    Raises
    ------
    UnreadableError
        If it cannot be read, or is not TOML.
    """
    text = _text(path)
    name = path.name.lower()
    if name.endswith((".yaml", ".yml")):
        raise UnreadableError(_other_language("YAML"))
    if name.endswith(".json"):
        raise UnreadableError(_other_language("JSON"))
    dots, line = longest_dotted_key(text)
    if dots > _MOST_DOTS:
        raise UnreadableError(f"a key of {dots + 1:,} names; a spec needs two or three", line)
    try:
        return text, tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        refusal = _toml_error(text, str(error))
    except RecursionError:
        refusal = UnreadableError("its lists or tables are nested too deeply; a spec needs few")
    except ValueError:
        # Python refuses to read whole numbers of more than 4,300 digits.
        refusal = UnreadableError("it holds a number with thousands of digits; shorten it")
    raise refusal


def _text(path: Path) -> str:
    content = _content(path)
    if len(content) > 4 * LIMIT:
        raise UnreadableError(_TOO_LONG, code=Code.UNREADABLE_FILE)
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = "it is not UTF-8 text; save it as UTF-8 (is it a table instead of a spec?)"
        raise UnreadableError(message, line, Code.UNREADABLE_FILE) from None
    if len(text) > LIMIT:
        raise UnreadableError(_TOO_LONG, code=Code.UNREADABLE_FILE)
    return text


def _content(path: Path) -> bytes:
    """Bytes of a file, no more than tell that it is too long."""
    reason = "it cannot be read; check its name"
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            reason = "it is a folder; name the spec file in it, such as audit.toml"
        elif stat.S_ISREG(mode):
            # A pipe would be waited for.
            with path.open("rb") as file:
                return file.read(4 * LIMIT + 1)
    except PermissionError:
        reason = f"it may not be read: {NO_PERMISSION}"
    except FileNotFoundError:
        reason = "there is no such file; `pqd init PRIVATE COPY` writes one"
    except (OSError, ValueError, RuntimeError):
        # A path with a zero byte is a ValueError, a loop of links may be a RuntimeError.
        pass
    raise UnreadableError(reason, code=Code.UNREADABLE_FILE)


def _other_language(language: str) -> str:
    return (
        f"it is {language}; a spec is TOML: [[check]] on a line of its own, then key = value "
        "lines (`pqd init PRIVATE COPY` writes one to begin with)"
    )


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        # Its exponent has 19 digits or more: too large or small to be of use, and refused as this.
        return Decimal("Infinity")


def _toml_error(text: str, reason: str) -> UnreadableError:
    """Error with the line, the reason that TOML gives, and what to do."""
    at = _AT.search(reason)
    reason = reason[: at.start()] if at else reason
    lines = text.split("\n")
    # At the end of the file only the statement that was not ended tells where the fault is.
    begun = [line for line, _ in statements(text)] or [1]
    line = min(int(at[1]), len(lines)) if at and at[1] else begun[-1]
    first, content = lines[begun[0] - 1], lines[line - 1]
    if _JSON.match(text):
        return UnreadableError(_other_language("JSON"), line)
    if _YAML.match(content) or _YAML.match(first):
        return UnreadableError(_other_language("YAML"), line)
    if _SQL.match(first):
        return UnreadableError("it is SQL; a file of queries goes to `pqd audit --queries`", line)
    if _TWICE.match(reason):
        # TOML's own words quote the name.
        twice = "a key or table stands twice; write each of them once"
        single = _CHECK.match(content)
        return UnreadableError(SINGLE_CHECK if single else twice, line, Code.DUPLICATE)
    hint = next((f"; {hint}" for pattern, hint in _HINTS if re.search(pattern, content)), "")
    return UnreadableError(f"not TOML: {reason[:1].lower()}{reason[1:]}{hint}", line)
