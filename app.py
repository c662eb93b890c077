"""Decoding Lab: see how a language model's probabilities become text. `python app.py` serves it."""

from __future__ import annotations

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# One core stays free for the pages: where two OpenMP threads share two busy cores, a step can stall for a second.
os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) - 1)))

from visualizations.pages.site import build, launch_options

demo = build()
demo.queue(default_concurrency_limit=16, max_size=200)

if __name__ == "__main__":
    port = int(os.environ.get("PORT", os.environ.get("GRADIO_SERVER_PORT", "7860")))
    demo.launch(server_port=port, **launch_options())
