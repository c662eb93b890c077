"""All pages in both languages as one Gradio app, and what they share in the document's head."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from visualizations.components.header import Header
from visualizations.lab import Lab
from visualizations.pages import beam, corrections, effects, next_token, samplers, sampling, speculative
from visualizations.text import LANGS, Lang, Text

PAGES = (
    ("next_token", next_token),
    ("sampling", sampling),
    ("effects", effects),
    ("samplers", samplers),
    ("beam", beam),
    ("speculative", speculative),
    ("corrections", corrections),
)
PATHS: dict[str, dict[Lang, str]] = {
    "next_token": {"en": "", "zh": "zh"},
    "sampling": {"en": "sampling", "zh": "zh-sampling"},
    "effects": {"en": "effects", "zh": "zh-effects"},
    "samplers": {"en": "samplers", "zh": "zh-samplers"},
    "beam": {"en": "beam", "zh": "zh-beam"},
    "speculative": {"en": "speculative", "zh": "zh-speculative"},
    "corrections": {"en": "corrections", "zh": "zh-corrections"},
}

_COMPONENTS = Path(__file__).parent.parent / "components"
_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def build(lab: Lab | None = None) -> gr.Blocks:
    """The whole site, ready for `queue` and `launch`."""
    lab = lab or Lab()
    with gr.Blocks(title="Decoding Lab", analytics_enabled=False) as demo:
        pass
    for slug, page in PAGES:
        for lang in LANGS:
            _page(demo, lab, slug, page, lang)
    return demo


def _page(demo: gr.Blocks, lab: Lab, slug: str, page: Any, lang: Lang) -> None:
    text = Text(lang)
    path = PATHS[slug][lang]
    where = demo if not path else demo.route(text(f"{slug}.nav"), path)
    with where:
        gr.Navbar(visible=False)
        Header(text, pages=tuple(PATHS.items()), current=slug)
        page.build(lab, text, where)


def launch_options() -> dict[str, Any]:
    """How the site is served: its head, its look, its limits. The look is in `components/lab.css`."""
    return {
        "css": (_COMPONENTS / "lab.css").read_text(encoding="utf-8"),
        "head": _head(),
        "theme": gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        "app_kwargs": {"routes": [Route("/assets/plotly.js", _plotly_js)]},
        "ssr_mode": False,
        "run_history": False,
        "max_file_size": "64kb",
        "state_session_capacity": 1000,
        "footer_links": [],
    }


def _head() -> str:
    config = json.dumps({"plotly": plotly.__version__})
    library = (_COMPONENTS / "lab.js").read_text(encoding="utf-8")
    start = (_COMPONENTS / "start.js").read_text(encoding="utf-8")
    return f"<script>window.LabConfig = {config};\n{library}\n{start}</script>"


_packed: dict[str, bytes] = {}


def _plotly_js(request: Request) -> Response:
    """plotly.js from its own package, compressed once, kept by the browser."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(_PLOTLY.read_bytes(), media_type="text/javascript", headers=headers)
    if "gzip" not in _packed:
        _packed["gzip"] = gzip.compress(_PLOTLY.read_bytes(), 6)
    return Response(_packed["gzip"], media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})
