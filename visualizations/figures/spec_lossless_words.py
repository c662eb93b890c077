"""What is said of the rules beside the target's law: which keep it, how far another is, what it writes too often."""

from __future__ import annotations

from collections.abc import Sequence

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


def worst(test: LawTest) -> list[EmittedLaw]:
    """The rules that are farthest from the target exactly, equal in the digits shown; none where all follow it."""
    off = [law for law in test.rules if law.excess is not None]
    most = chance(max((law.exact for law in off), default=0.0))
    return [law for law in off if chance(law.exact) == most]


def lossless_caption(test: LawTest, view: View) -> Caption:
    """Which rules keep the law, what is shaded, and which token the worst ones write too often."""
    text, odds = view.text, number(round(1 / (1 - test.level)))
    noise = {"expected": chance(test.expected), "high": chance(test.high), "odds": odds}
    said = [text("lossless.what", draws=number(test.draws)), text("lossless.noise", **noise), _excess(test, view)]
    if out := _out(test):
        said.append(text("lossless.left", rules=_names(out, view), odds=odds))
    return caption(_title(test, view), said, view)


def _title(test: LawTest, view: View) -> str:
    """The finding: whether any rule is seen to be off, and how far the farthest are."""
    far = worst(test)
    if not far:
        return view.text("lossless.all_exact")
    if all(law.measured <= test.high for law in test.rules):
        return view.text("lossless.all_within", draws=number(test.draws))
    one, several = "lossless.finding", "lossless.finding_tied"
    if _out(test):
        one, several = "lossless.finding_exact", "lossless.finding_exact_tied"
    return view.text(one if len(far) == 1 else several, rule=_names(far, view), distance=chance(far[0].exact))


def _out(test: LawTest) -> list[EmittedLaw]:
    """Those that follow the target and yet were measured beyond the noise."""
    return [law for law in test.rules if law.excess is None and law.measured > test.high]


def _names(laws: Sequence[EmittedLaw], view: View) -> str:
    return list_of([bare(law, view) for law in laws], view)


def bare(law: EmittedLaw, view: View) -> str:
    """A rule's name in a sentence."""
    return view.text(f"lossless.name_{law.rule}")


def _excess(test: LawTest, view: View) -> str:
    """What the farthest rules write too often: in one sentence those of which the same is to be said."""
    found: dict[tuple[str, str, str], list[EmittedLaw]] = {}
    for law in worst(test):
        assert law.excess is not None
        shares = percent(law.excess.emitted_prob), percent(law.excess.target_prob)
        found.setdefault((quoted(law.excess.token.text), *shares), []).append(law)
    said = []
    for (token, emitted, target), laws in found.items():
        key, rule, hole = "lossless.excess_tied" if len(laws) > 1 else "lossless.excess", _names(laws, view), "{token}"
        words = view.text(key, rule=rule[0].upper() + rule[1:], token=hole, emitted=emitted, target=target)
        said.append(spaced(words).replace(hole, token))
    return view.text("join").join(said)
