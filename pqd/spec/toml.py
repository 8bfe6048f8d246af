"""The text of a spec file as TOML, and its mistakes if it is not TOML."""

from __future__ import annotations

import re
import stat
import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pqd.deciders.names import near_hint, nearest_names
from pqd.errors import NO_PERMISSION
from pqd.spec.positions import longest_dotted_key, statements
from pqd.spec.problems import Code

LIMIT = 1_000_000
_TABLES = (".csv", ".tsv", ".parquet", ".gz", ".duckdb")
_TOO_LONG = f"it has more than {LIMIT:,} characters; a spec is shorter (is it a table?)"
# The most dots in a key.  A header such as ``[columns.age]`` needs one.  The time of Python's
# reader grows with the square of this number.
_MOST_DOTS = 16
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_JSON = re.compile(r"\s*(\{|\[\s*\{)")
_YAML = re.compile(r"""\s*(- +)?([\w-]+|"[^"]*"|'[^']*'):(\s|$)|\s*- |---\s*$""")
_SQL = re.compile(r"\s*(SELECT\b|--)", re.IGNORECASE)
# Patterns of faulty lines, each with a remedy; the first pattern that fits is used.
_HINTS = (
    (r"=\s*[+-]?\d+,\d+\s*(#|$)", "a number has a decimal point, such as 0.01"),
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
    """Error for a file that is not TOML; ``line`` is the faulty line, None for the whole file.

    ``code`` is ``unreadable_file``, ``not_toml`` or ``duplicate``.  The message quotes nothing of
    the file, since a caller may name a private table by mistake.
    """

    def __init__(self, message: str, line: int | None = None, code: Code = Code.NOT_TOML) -> None:
        """Store the line and the code."""
        self.line, self.code = line, code
        super().__init__(message)


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and content of a file; decimals stay exact.

    Raises
    ------
    UnreadableError
        If the file cannot be read, or is not TOML.
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
    if path.name.lower().endswith(_TABLES):
        message = (
            "it is a table, not a spec; a spec is a TOML file (pqd init PRIVATE COPY writes one)"
        )
        raise UnreadableError(message, code=Code.UNREADABLE_FILE)
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
    """Bytes of a file; of a file that is too long only enough bytes to see this."""
    reason = "it cannot be read; check its name"
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            reason = "it is a folder; name the spec file in it, such as audit.toml"
        elif stat.S_ISREG(mode):
            # Read only regular files, since a pipe could make the program wait.
            with path.open("rb") as file:
                return file.read(4 * LIMIT + 1)
    except PermissionError:
        reason = f"it may not be read: {NO_PERMISSION}"
    except FileNotFoundError:
        near = nearest_names(path.stem, [e.stem for e in path.parent.glob("*.toml")], cutoff=0.6)
        hint = (
            near_hint([f"{name}.toml" for name in near]) or "; `pqd init PRIVATE COPY` writes one"
        )
        reason = f"there is no such file{hint}"
    except (OSError, ValueError, RuntimeError):
        # ValueError comes from a path with a zero byte, RuntimeError from a loop of links.
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
        # The exponent has 19 digits or more.  The number is of no use, and refused like infinity.
        return Decimal("Infinity")


def _toml_error(text: str, reason: str) -> UnreadableError:
    """Error with the line, the reason that TOML gives, and a remedy."""
    at = _AT.search(reason)
    reason = reason[: at.start()] if at else reason
    lines = text.split("\n")
    # If the fault is noticed only at the end of the file, show the last statement that begins.
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
        # The message of tomllib is not used, since it quotes the name.
        twice = "a key or table stands twice; write each of them once"
        single = _CHECK.match(content)
        return UnreadableError(SINGLE_CHECK if single else twice, line, Code.DUPLICATE)
    hint = next((f"; {hint}" for pattern, hint in _HINTS if re.search(pattern, content)), "")
    return UnreadableError(f"not TOML: {reason[:1].lower()}{reason[1:]}{hint}", line)
