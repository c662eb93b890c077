"""Words of the pages around the figures: key -> (en, zh)."""

PAGES: dict[str, tuple[str, str]] = {}
