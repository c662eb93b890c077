"""What the rounds of a speculative run come to: tokens, passes and drafts, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.trace import SpeculativeStep


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over rounds: `emitted` tokens, `target_passes` (one a round), `draft_passes`, and drafts.

    Of the `drafted` tokens, `judged` were looked at and `accepted` kept. A pass is one forward of the model.
    """

    emitted: int
    target_passes: int
    draft_passes: int
    drafted: int
    judged: int
    accepted: int

    @property
    def tau(self) -> float:
        """Tokens written per pass of the target; 0 before the first."""
        return self.emitted / self.target_passes if self.target_passes else 0.0

    @property
    def accepted_share(self) -> float | None:
        """Accepted of all drafted tokens; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def acceptance(self) -> float | None:
        """The acceptance rate alpha: accepted of those looked at (Leviathan et al. 2023, section 3.1, as counted)."""
        return self.accepted / self.judged if self.judged else None


def counts(steps: Sequence[SpeculativeStep]) -> Counts:
    """The counts of these rounds."""
    verdicts = [verdict for step in steps for verdict in step.verdicts]
    return Counts(
        emitted=sum(len(step.emitted) for step in steps),
        target_passes=len(steps),
        draft_passes=sum(step.draft_forwards for step in steps),
        drafted=sum(len(step.nodes) for step in steps),
        judged=len(verdicts),
        accepted=sum(verdict.accepted for verdict in verdicts),
    )
