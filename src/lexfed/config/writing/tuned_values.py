# SPDX-License-Identifier: Apache-2.0
"""Write the values of a setting into the text of a `lexfed.toml`, and nothing else.

A key that is there gets its value in place; one that is not goes to the end of its
table, or into a new table. The result is read again and compared.
"""

import tomllib

from lexfed.config.search_grid import SearchSetting, set_key, toml_value
from lexfed.config.text.positions import KeyPath, text_positions
from lexfed.config.text.wording import dotted, listed
from lexfed.errors import ConfigError, Problem


def with_setting(text: str, setting: SearchSetting) -> str:
    """Return the text of a configuration with the values of a setting.

    Guarantees:
        The result says what the text said, and the setting.
        Comments, order and layout of everything else stay.

    Raises:
        ConfigError: if a key is written in a way that cannot be changed in place.
    """
    wanted = tomllib.loads(text)
    result = text
    for path, value in setting.values:
        set_key(wanted, path, value)
        result = _replaced(result, path, toml_value(value))
    try:
        same = tomllib.loads(result) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        names = listed(dotted(path) for path, _ in setting.values)
        what = f"cannot change {names} as the file is written"
        hint = f"write by hand: {setting}"
        raise ConfigError([Problem("configuration", what, hint)])
    return result


def _replaced(text: str, path: KeyPath, value: str) -> str:
    where = text_positions(text)
    line_end = "\r\n" if "\r\n" in text else "\n"
    if path in where.values:
        start, stop = where.values[path]
        return text[:start] + value + text[stop:]
    table, key = path[:-1], dotted(path[-1:])
    if table in where.ends:
        at = text.find("\n", where.ends[table]) + 1 or len(text)
        first = "" if text[:at].endswith("\n") else line_end
        return f"{text[:at]}{first}{key} = {value}{line_end}{text[at:]}"
    if table in where.values:  # an inline table, which ends with its brace
        start, stop = where.values[table]
        comma = "" if not text[start + 1 : stop - 1].strip() else ", "
        inner = text[start : stop - 1].rstrip()
        return f"{text[:start]}{inner}{comma or ' '}{key} = {value} {text[stop - 1 :]}"
    return (
        f"{text.rstrip()}{line_end}{line_end}[{dotted(table)}]{line_end}"
        f"{key} = {value}{line_end}"
    )
