"""What is said of the rules beside the target's law: which keep it, how far another is, what it writes too often."""

from __future__ import annotations

from decoding.speculative.values import EmittedLaw, LawTest
from visualizations.figures.spec_sheet import chance
from visualizations.figures.style import View, number, percent, quoted
from visualizations.figures.words import Caption, caption, list_of, spaced


def named(law: EmittedLaw, view: View) -> str:
    """A rule's name, and that it is lossy."""
    return view.text(f"lossless.rule_{law.rule}")


def told(law: EmittedLaw) -> str:
    """The exact distance: 0 where only rounding is left."""
    return "0" if law.excess is None else chance(law.exact)


def worst(test: LawTest) -> EmittedLaw | None:
    """The rule that is farthest from the target exactly; None where all follow it."""
    far = max(test.rules, key=lambda law: law.exact)
    return None if far.excess is None else far


def lossless_caption(test: LawTest, view: View) -> Caption:
    """Which rules keep the law, what is shaded, and which token the worst one writes too often."""
    text, odds = view.text, number(round(1 / (1 - test.level)))
    noise = {"expected": chance(test.expected), "high": chance(test.high), "odds": odds}
    said = [text("lossless.what", draws=number(test.draws)), text("lossless.noise", **noise), _excess(test, view)]
    if out := _out(test):
        names = list_of([bare(law, view) for law in out], view)
        said.append(text("lossless.left", rules=names, odds=odds))
    return caption(_title(test, view), said, view)


def _title(test: LawTest, view: View) -> str:
    """The finding: whether, and how far, the farthest rule is seen to be off."""
    far = worst(test)
    if far is None:
        return view.text("lossless.all_exact")
    if far.measured <= test.high:
        return view.text("lossless.all_within", draws=number(test.draws))
    key = "lossless.finding_exact" if _out(test) else "lossless.finding"
    return view.text(key, rule=bare(far, view), distance=chance(far.exact if far.excess else far.measured))


def _out(test: LawTest) -> list[EmittedLaw]:
    """Those that follow the target and yet were measured beyond the noise."""
    return [law for law in test.rules if law.excess is None and law.measured > test.high]


def bare(law: EmittedLaw, view: View) -> str:
    """A rule's name in a sentence."""
    return view.text(f"lossless.name_{law.rule}")


def _excess(test: LawTest, view: View) -> str:
    """What the farthest rule writes too often."""
    far = worst(test)
    if far is None or far.excess is None:
        return ""
    shares = {"emitted": percent(far.excess.emitted_prob), "target": percent(far.excess.target_prob)}
    rule, hole = bare(far, view), "{token}"
    said = spaced(view.text("lossless.excess", rule=rule[0].upper() + rule[1:], token=hole, **shares))
    return said.replace(hole, quoted(far.excess.token.text))
