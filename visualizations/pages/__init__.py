"""One Gradio page per topic: controls -> decode -> figures."""
