"""Words inside the figures: key -> (en, zh)."""

FIGURES: dict[str, tuple[str, str]] = {}
