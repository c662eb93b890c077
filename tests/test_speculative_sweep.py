"""Sweeps over gamma and over drafters, on tables and a clock that only forwards move."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from decoding import api, codec
from decoding.errors import UserError
from decoding.models.protocol import LanguageModel
from decoding.speculative import cost
from decoding.speculative.race import WARM_STEPS, racing, result
from decoding.speculative.sweep import aligning, sweeping
from decoding.speculative.values import Alignment, GammaSweep, Judged, LeftOut
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import ModelInfo
from decoding.values import ForwardTime, ForwardTimes
from tests.speculative_clock import Time, draft_seconds, racers, target_seconds

INFO = ModelInfo("x", 100, 256, "cpu", "float32")
GAMMAS = (1, 2, 4, 7)


def times(seconds: Any) -> ForwardTimes:
    found = tuple(ForwardTime(count, 1000 * seconds(count)) for count in range(1, 18))
    return ForwardTimes(INFO, "here", 2, 100, 5_000_000, 1e9, found, found[:1])


@pytest.fixture(scope="module")
def swept() -> GammaSweep:
    return result(sweeping(racers(Time()), times(target_seconds), GAMMAS))


# --- gamma -----------------------------------------------------------------------------------------


def test_every_gamma_is_raced_as_by_itself(swept: GammaSweep) -> None:
    assert [race.gamma for race in swept.races] == list(GAMMAS)
    for race in swept.races:
        field = racers(Time())
        alone = result(racing(replace(field, settings=replace(field.settings, gamma=race.gamma)), 1))
        assert race == alone
        assert max(len(race.places), 1) <= race.gamma and race.counts.tau <= race.gamma + 1


def test_counts_over_all_races_are_sums(swept: GammaSweep) -> None:
    judged, accepted = (sum(getattr(race.counts, name) for race in swept.races) for name in ("judged", "accepted"))
    assert swept.acceptance == accepted / judged
    assert sum(place.judged for place in swept.places) == judged
    assert sum(place.accepted for place in swept.places) == accepted
    first = swept.places[0]
    assert first == Judged(
        sum(race.places[0].judged for race in swept.races), sum(race.places[0].accepted for race in swept.races)
    )
    assert first.judged >= swept.places[1].judged > 0


def test_the_cost_model_is_right_where_only_forwards_take_time(swept: GammaSweep) -> None:
    """With this race's own acceptance by position, its times and no prompt, prediction and measurement meet.

    What is left: the last round may be cut short, the draft may read two tokens at once, and positions late in a round
    have few drafts to count.
    """
    assert swept.target_times is not None
    for race in swept.races:
        shares = [place.share or 0.0 for place in race.places]
        predicted = cost.timed_speedup(shares, race.gamma, swept.target_times, times(draft_seconds))
        assert race.speedup == pytest.approx(predicted, rel=0.15)


@pytest.mark.parametrize("drafter", ["oracle", "ngram", "random"])
def test_where_few_are_drafted_the_passes_of_a_race_say_what_it_gains(drafter: str) -> None:
    """Where only forwards take time and the prompt is short, tau over the cost of a round is near the speed-up.

    Not equal to it: the first round reads the prompt, and is not counted in the costs.
    """
    found = result(sweeping(racers(Time(), tokens=40, drafter=drafter), times(target_seconds), (2, 16)))
    for race in found.races:
        assert race.speedup == pytest.approx(cost.predicted(race), rel=0.05)


@pytest.mark.parametrize("drafter", ["toy", "oracle", "ngram"])
def test_c_is_that_of_the_race_everywhere(drafter: str) -> None:
    """What the drafts of a round cost in a sweep is what they cost in its race."""
    found = result(sweeping(racers(Time(), drafter=drafter), times(target_seconds), GAMMAS))
    for race in found.races:
        drafting, check = cost.timed_round(race, times(target_seconds))
        assert drafting + race.check_cost == pytest.approx(cost.round_cost(race))
        assert check == target_seconds(1 + round(race.counts.drafted / race.counts.target_passes)) / target_seconds(1)
        assert (drafting == 0) == (drafter == "ngram")


def test_nothing_judged_has_no_acceptance() -> None:
    found = result(sweeping(racers(Time(), tokens=1, drafter="ngram"), gammas=(1,)))
    assert found.races[0].counts.judged == 0 and found.acceptance is None and found.places == ()
    assert Judged(0, 0).share is None and Judged(4, 3).share == 0.75


def test_progress_tells_the_gamma_and_rises() -> None:
    running = sweeping(racers(Time()), gammas=(1, 2))
    told = list(running)
    fractions = [done for done, _ in told]
    assert fractions == sorted(fractions) and fractions[0] >= 0 and fractions[-1] == 1
    assert [name for _, name in told] == sorted(name for _, name in told) and {name for _, name in told} == {1, 2}
    warm = [done for done, _ in told if done == 0]
    assert len(warm) == 2 * WARM_STEPS, "only the first race is warmed"


def test_a_sweep_that_is_closed_ends_at_once() -> None:
    field = racers(Time())
    model: Any = field.model
    running = sweeping(field)
    next(running)
    seen = len(model.seen)
    running.close()
    assert len(model.seen) == seen and next(running, None) is None


# --- drafters --------------------------------------------------------------------------------------


def aligned(load: Any, drafters: tuple[str, ...] = ("trained", "early", "ngram", "random", "oracle")) -> Alignment:
    return result(aligning(racers(Time()), load, drafters))


def test_every_drafter_has_a_row_and_all_else_alike() -> None:
    field = racers(Time())
    asked: list[SpeculativeSettings] = []

    def load(settings: SpeculativeSettings) -> LanguageModel | None:
        asked.append(settings)
        return field.draft if settings.needs_model else None

    found = aligned(load)
    assert [race.drafter for race in found.races] == ["trained", "early", "ngram", "random", "oracle"]
    assert asked == [replace(field.settings, drafter=race.drafter) for race in found.races]
    assert found.left_out == () and {race.gamma for race in found.races} == {3}
    oracle = found.races[-1]
    assert oracle.counts.acceptance == 1 and oracle.counts.tau > 3
    assert all((race.draft is None) == (race.drafter in ("ngram", "random")) for race in found.races)
    assert codec.loads(codec.dumps(found), Alignment) == found


@pytest.mark.parametrize("code", ["no_draft", "draft_of_table", "draft_unsupported"])
def test_a_drafter_that_is_not_to_be_had_is_left_out_and_told(code: str) -> None:
    def load(settings: SpeculativeSettings) -> LanguageModel | None:
        if settings.needs_model:
            raise UserError(code, name="target")
        return None

    found = aligned(load)
    assert [race.drafter for race in found.races] == ["ngram", "random", "oracle"]
    assert found.left_out == (LeftOut("trained", code, "toy:target"), LeftOut("early", code, "toy:target"))


def test_another_mistake_is_not_swallowed() -> None:
    def load(settings: SpeculativeSettings) -> LanguageModel | None:
        raise UserError("draft_broken", path="x", reason="it is empty")

    with pytest.raises(UserError, match="it is empty"):
        aligned(load)


def test_the_models_own_loader_says_what_a_table_cannot_have() -> None:
    field = racers(Time())
    found = result(aligning(field, lambda settings: api.load_draft(field.model, settings), ("trained", "oracle")))
    assert [each.code for each in found.left_out] in (["draft_of_table"], ["draft_unsupported"])
    assert [race.drafter for race in found.races] == ["oracle"]
