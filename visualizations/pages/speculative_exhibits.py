"""Exhibits about speculative decoding for the page *Corrections*: Top-K verification, and the draft's length."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from decoding.models import table
from decoding.speculative import cost
from decoding.speculative.values import GammaSweep, LawTest, Race
from decoding.trace import MAX_GAMMA
from visualizations.components.viewer import Control, Panel, ViewSlider
from visualizations.figures import spec_emitted, spec_length, spec_lossless
from visualizations.figures.spec_lossless_words import lossless_caption
from visualizations.figures.spec_sheet import chance
from visualizations.figures.style import percent, quoted
from visualizations.figures.words import caption
from visualizations.pages import measuring, speculative_lossless, speculative_race, speculative_sweep, view
from visualizations.pages.view import Ask
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.observe import Law

TARGET, DRAFT = "toy:lecture", "toy:lecture-draft"
SEED, RANKS = 0, 2
NOTES = (4, 8)
"""The draft lengths that the notes name."""
PANELS = (
    Panel("verification", span=7, section="verification"),
    Panel("verification_draws", span=5, link="speculative"),
    Panel("length", section="length", link="speculative"),
)


def controls(text: Text) -> tuple[Control, ...]:
    """K; and alpha and c, which begin as measured."""
    alpha, draft_cost = measured()
    words = len(table.read(table.TABLES / f"{TARGET.removeprefix('toy:')}.json").after(()))
    return (
        ViewSlider("ranks", text("spec.verify_top_k"), 1, words, 1, RANKS, 0, panel="verification"),
        ViewSlider("alpha", text("lossless.alpha"), 0, 1, 0.01, alpha, panel="length"),
        ViewSlider("draft_cost", text("lossless.cost"), 0, 1, 0.01, draft_cost, panel="length"),
    )


def panels(ask: Ask, text: Text) -> dict[str, Any]:
    """The panels by name."""
    ranks = round(ask.slider("ranks", RANKS, 1, table.MAX_ROWS))
    return {
        "verification": _laws(ask, text, ranks),
        "verification_draws": _draws(ask, text, ranks),
        "length": _length(ask, text),
    }


def sources() -> dict[str, list[Any]]:
    """What computed each panel."""
    from decoding.speculative import lossless, verification

    return {
        "verification": [lossless.emitted, lossless.accepting, verification.TopK, verification.Lossless],
        "verification_draws": speculative_lossless.sources(),
        "length": [cost.speedup, cost.expected_tokens, cost.best_gamma],
    }


@lru_cache(1)
def laws() -> tuple[Law, Law]:
    """p and q of the first word of the lecture's table and of its draft."""
    from decoding import api
    from decoding.sampling import Uniforms
    from decoding.speculative.drafters import drafter_of
    from decoding.speculative.lossless import first_laws

    model, draft = api.load(TARGET), api.load(DRAFT)
    settings = api.speculative_settings(drafter=DRAFT)
    target, drafted = first_laws(model, drafter_of(model, draft, settings, Uniforms(SEED)), model.encode(""), settings)
    assert drafted is not None
    return target, drafted


@lru_cache(16)
def tested(ranks: int) -> LawTest:
    """Both rules beside plain sampling, exactly and by many draws."""
    from decoding import api
    from decoding.speculative import lossless
    from decoding.speculative.verification import Lossless, TopK

    rules = (Lossless(), TopK(ranks))
    return lossless.compare(*laws(), rules, speculative_lossless.AMOUNTS[-1], SEED, api.load(TARGET).token)


@lru_cache(16)
def rows(ranks: int) -> tuple[spec_emitted.Emitted, ...]:
    """Every word with its three probabilities, the target's likeliest first."""
    from decoding import api, observe
    from decoding.speculative import lossless
    from decoding.speculative.verification import Lossless, TopK

    target, draft = laws()
    token, (ids, probs) = api.load(TARGET).token, observe.ranked(target)
    kept, top = (lossless.emitted(rule, target, draft)[0][ids].tolist() for rule in (Lossless(), TopK(ranks)))
    made = zip(ids.tolist(), probs.tolist(), kept, top, strict=True)
    return tuple(spec_emitted.Emitted(token(id), *shares) for id, *shares in made)


def _laws(ask: Ask, text: Text, ranks: int) -> dict[str, Any]:
    """The exact laws side by side."""
    at, law = ask.view("verification", text), tested(ranks).rules[-1]
    assert law.excess is not None and law.acceptance is not None, "the draft's law is another than the target's"
    found = law.excess
    shares = {"emitted": percent(found.emitted_prob), "target": percent(found.target_prob)}
    title = text("lossless.exhibit", ranks=ranks, token=quoted(found.token.text), **shares)
    said = [text("lossless.exhibit_text", distance=chance(law.exact), share=percent(law.acceptance))]
    if law.acceptance > 1 - spec_emitted.SAME:
        said.append(text("lossless.exhibit_all"))
    return view.panel({**caption(title, said, at)}, spec_emitted.emitted(rows(ranks), at))


def _draws(ask: Ask, text: Text, ranks: int) -> dict[str, Any]:
    """The same by drawing."""
    at, test = ask.view("verification_draws", text), tested(ranks)
    picture = spec_lossless.spec_lossless(test, at, spec_lossless.largest([test]))
    return view.panel({**lossless_caption(test, at)}, picture)


@lru_cache(1)
def measured() -> tuple[float, float]:
    """alpha of the recorded sweep and c of the recorded race, to the slider's two digits."""
    swept = measuring.recorded("speculative", speculative_sweep.NAME, GammaSweep)
    raced = measuring.recorded("speculative", speculative_race.NAME, Race)
    assert swept and swept.acceptance and raced and raced.draft_cost, "they come with the app"
    return round(swept.acceptance, 2), min(1.0, round(raced.draft_cost, 2))


def _length(ask: Ask, text: Text) -> dict[str, Any]:
    """The speed-up against gamma, for the alpha and the c chosen."""
    at, (alpha, draft_cost) = ask.view("length", text), measured()
    found = lengths(ask.slider("alpha", alpha, 0, 1), ask.slider("draft_cost", draft_cost, 0, 1))
    words = spec_length.lengths_caption(found, at)
    start = text("lossless.length_start", alpha=f"{alpha:.2f}", cost=f"{draft_cost:.2f}")
    return view.panel({"title": words["title"], "text": words["text"] + "\n" + start}, spec_length.lengths(found, at))


def lengths(alpha: float, draft_cost: float) -> spec_length.Lengths:
    """Every draft length from 0 on."""

    def gain(gamma: int) -> float:
        return cost.speedup(alpha, gamma, draft_cost)

    speeds = tuple(gain(gamma) for gamma in range(MAX_GAMMA + 1))
    return spec_length.Lengths(alpha, draft_cost, speeds, cost.best_gamma(gain), NOTES)
