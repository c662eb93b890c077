"""The papers behind the page, by time and by who drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from visualizations.text import Text

Lane = Literal["model", "heads", "features", "block"]
"""Who drafts: another model, heads on the target, a layer on its features, or whoever writes many tokens at once."""
ARXIV = "https://arxiv.org/abs/"


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the papers; `first`: the first author's family name, `arxiv`: its number, `lane`: who drafts."""

    key: str
    name: str
    first: str
    year: int
    arxiv: str
    lane: Lane


PAPERS = (
    Paper("blockwise", "Blockwise parallel decoding", "Stern", 2018, "1811.03115", "heads"),
    Paper("leviathan", "Speculative decoding", "Leviathan", 2022, "2211.17192", "model"),
    Paper("chen", "Speculative sampling", "Chen", 2023, "2302.01318", "model"),
    Paper("specinfer", "SpecInfer", "Miao", 2023, "2305.09781", "model"),
    Paper("medusa", "Medusa", "Cai", 2024, "2401.10774", "heads"),
    Paper("eagle", "EAGLE", "Li", 2024, "2401.15077", "features"),
    Paper("lookahead", "Lookahead decoding", "Fu", 2024, "2402.02057", "block"),
    Paper("mtp", "Multi-token prediction", "Gloeckle", 2024, "2404.19737", "heads"),
    Paper("eagle2", "EAGLE-2", "Li", 2024, "2406.16858", "features"),
    Paper("eagle3", "EAGLE-3", "Li", 2025, "2503.01840", "features"),
    Paper("diffusion", "Block Diffusion", "Arriola", 2025, "2503.09573", "block"),
    Paper("dflash", "DFlash", "Chen", 2026, "2602.06036", "block"),
)
"""In the order of their first versions, whose year is shown."""


def panel(text: Text) -> dict[str, Any]:
    """The roadmap as plain values."""
    return {
        "title": text("road.title"),
        "text": text("road.text"),
        "road": [_paper(each, text) for each in PAPERS],
    }


def _paper(paper: Paper, text: Text) -> dict[str, str]:
    who, said = text("road.et_al", name=paper.first), text(f"road.{paper.key}")
    lane = {"lane": paper.lane, "drafts": text(f"road.lane.{paper.lane}")}
    return {"year": str(paper.year), "name": paper.name, "who": who, "link": ARXIV + paper.arxiv, "said": said, **lane}
