"""Text from queries and file names, made harmless for a terminal."""

import unicodedata

# Controls, formats (such as reversed direction), halves of characters, line and page separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str, *, keep: str = "") -> str:
    """Return ``text`` with every sign that a terminal would obey written out as an escape.

    Signs in ``keep`` are left as they are.
    """
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in _HIDDEN and sign not in keep
        else sign
        for sign in text
    )
