"""Training of draft models: text that a target writes itself, and a small model distilled on it."""
