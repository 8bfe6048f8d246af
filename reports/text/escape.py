"""Text from queries and file names, made harmless for a terminal and for a build's log."""

import re
import shlex
import unicodedata

# Controls, formats (such as reversed direction), halves of characters, line and page separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# What the runner of a build obeys in a log: "::name" where a line begins (GitHub), and anywhere
# "##[name" (GitHub, Azure), "##vso[name" (Azure), "##teamcity[name".
_OBEYED = re.compile(r"(?P<begun>(?:^|[\r\n])\s*):(?=:)|##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)


def visible(text: str, *, keep: str = "") -> str:
    """Text with every sign that a terminal would obey written out as an escape.

    Signs in ``keep`` are left as they are.
    """
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in _HIDDEN and sign not in keep
        else sign
        for sign in text
    )


def quoted(text: str) -> str:
    """Text as one word of a command line, with every sign written out that a terminal obeys."""
    return shlex.quote(visible(text))


def inert(text: str) -> str:
    """Text without a command to the runner of a build that reads its lines.

    One sign of it is written as JSON would escape it, so that JSON says what it said.
    """
    return _OBEYED.sub(
        lambda found: "#\\u0023" if found["begun"] is None else f"{found['begun']}\\u003a", text
    )
