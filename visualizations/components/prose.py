"""Our own words as HTML: escaped, and never broken inside top-p, top-k or min-p."""

from __future__ import annotations

import re
from html import escape

_WHOLE = re.compile(r"\b((?:top|min|typical)-[pk])\b", re.IGNORECASE)


def prose(text: str) -> str:
    """`text` escaped; what must stay on one line stands in a span of its own (parts.js does so in the browser)."""
    return _WHOLE.sub(r'<span class="lab-whole">\1</span>', escape(text))
