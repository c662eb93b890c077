"""The frozen values a run is made of. Standard library only: a recorded run opens without torch.

Probabilities are in [0, 1], entropies in bits, logits in nats. A removed token has probability 0
and no logit (`None`), so that every number is finite and travels through JSON.
"""

from decoding.trace.draws import (
    AliasColumn,
    AliasDraw,
    ArgmaxDraw,
    BinarySearchDraw,
    DirectDraw,
    Draw,
    ForcedDraw,
    GumbelDraw,
    PerturbedScore,
    Probe,
)
from decoding.trace.law import Candidate, Distribution, Stage, Token
from decoding.trace.run import SCHEMA, Finish, Header, ModelInfo, Prompt, Returned, Step, Trace
from decoding.trace.sampled import SampleStep
from decoding.trace.searched import MAX_BEAMS, BeamNode, BeamStep, Cut, Fate, Hypothesis
from decoding.trace.speculated import (
    DRAFTERS,
    LOOKUP_FIRST,
    MADE_OF_TARGET,
    MAX_GAMMA,
    VERIFIERS,
    WITHOUT_MODEL,
    Addition,
    DraftNode,
    SpeculativeStep,
    Verdict,
)

__all__ = [
    "DRAFTERS",
    "LOOKUP_FIRST",
    "MADE_OF_TARGET",
    "MAX_BEAMS",
    "MAX_GAMMA",
    "SCHEMA",
    "VERIFIERS",
    "WITHOUT_MODEL",
    "Addition",
    "AliasColumn",
    "AliasDraw",
    "ArgmaxDraw",
    "BeamNode",
    "BeamStep",
    "BinarySearchDraw",
    "Candidate",
    "Cut",
    "DirectDraw",
    "Distribution",
    "DraftNode",
    "Draw",
    "Fate",
    "Finish",
    "ForcedDraw",
    "GumbelDraw",
    "Header",
    "Hypothesis",
    "ModelInfo",
    "PerturbedScore",
    "Probe",
    "Prompt",
    "Returned",
    "SampleStep",
    "SpeculativeStep",
    "Stage",
    "Step",
    "Token",
    "Trace",
    "Verdict",
]
