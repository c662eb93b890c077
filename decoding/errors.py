"""The mistakes a user can make. Each message is one sentence: the value, the limit, the remedy.

The English stands here, beside the core; `visualizations.text.errors` holds the Chinese, by code.
"""

from __future__ import annotations

from typing import Any

MESSAGES: dict[str, str] = {
    "out_of_range": "{name} is {value}; it must be {limit}: choose a value in that range.",
    "unknown_choice": "{name} is {value!r}; it must be one of {choices}.",
}
"""Code to English sentence; fields in braces are filled from the error's values."""


class UserError(ValueError):
    """A mistake in what was asked for; its text is meant for the person who asked.

    `code` and `values` let a page say the same in another language.
    """

    def __init__(self, code: str, **values: Any) -> None:
        self.code = code
        self.values = values
        super().__init__(MESSAGES[code].format(**values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.values)


def _rebuild(code: str, values: dict[str, Any]) -> UserError:
    return UserError(code, **values)
