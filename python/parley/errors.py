"""What the library reports, as exceptions."""
from __future__ import annotations


class ParleyError(Exception):
    """A call of the library failed. `status` is the short name of core.h ("argument", "format", ..), `text` one line that names what was wrong,
    `position` the place in a file where a parser stopped."""

    def __init__(self, status: str, text: str, position: int = 0, http: int = 500) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text
        self.position = position
        self.http = http
