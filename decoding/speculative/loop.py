"""The loop of speculative decoding: draft, judge all drafts in one forward of the target, keep what it accepts.

One loop for all drafters and verifiers, over trees; a chain is a tree of width one. A generator of rounds; closing it
cancels the run. S tokens of text so far, N drafted, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from decoding import observe
from decoding.models.protocol import KVCache, LanguageModel
from decoding.observe import Law
from decoding.sampling import Uniforms, plain
from decoding.speculative.drafters import Draft, Drafter
from decoding.speculative.tree import ROOT, TokenTree
from decoding.speculative.verification import Added, Judgement, Outcome, prob, verify
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import Addition, DraftNode, SpeculativeStep, Token, Verdict

TokenOf = Callable[[int], Token]


def speculate(
    model: LanguageModel,
    drafter: Drafter,
    prompt: Sequence[int],
    settings: SpeculativeSettings,
    uniforms: Uniforms,
    known: Sequence[int] = (),
) -> Iterator[SpeculativeStep]:
    """Yield one SpeculativeStep per round until an end token, `max_new_tokens`, or the caller closes it.

    `prompt`: token ids. `known`: new tokens already decided; the loop goes on after them. The drafter is closed at
    the end. Raises UserError where the logits of either model are broken, or a cache cannot be cut back.
    """
    if known and known[-1] in model.end_ids:
        drafter.close()
        return
    context = min(info.context_length for info in (model.info, drafter.info) if info is not None)
    cache = model.new_cache()
    try:
        history = torch.tensor([*prompt, *known])
        position = len(known)
        while (room := settings.max_new_tokens - position) > 0:
            before = drafter.forwards
            gamma = max(0, min(settings.gamma, room, context - len(history)))
            draft = drafter.propose(history, position, gamma)
            logits = _read(model, cache, history, draft.tree)
            outcome = _judge(logits, history, draft, position, settings, uniforms, model.end_ids)
            _keep(cache, len(history), outcome.accepted)
            drafter.crop(cache.length)
            step = _record(position, draft, outcome, settings, drafter.forwards - before, model.token)
            yield step
            if step.emitted[-1].id in model.end_ids:
                return
            history = torch.cat((history, torch.tensor([token.id for token in step.emitted])))
            position += len(step.emitted)
    finally:
        del cache  # frees keys and values the moment the run ends or is closed
        drafter.close()


def _read(model: LanguageModel, cache: KVCache, history: Tensor, tree: TokenTree) -> Tensor:
    """Logits (1 + N, V) after the text and after each node, by one forward over all that the cache lacks."""
    held, unread = cache.length, history[cache.length :]
    assert len(unread) > 0, "the token added last is never read in its own round"
    tokens = torch.cat((unread, tree.tokens))[None]
    places, mask = tree.positions(held, len(unread)), tree.mask(held, len(unread))
    logits = model.forward(tokens, cache, places, mask, logits_to_keep=1 + len(tree)).logits[0]
    assert cache.length == len(history) + len(tree) and len(logits) == 1 + len(tree)
    return logits


@torch.inference_mode()
def _judge(
    logits: Tensor,
    history: Tensor,
    draft: Draft,
    position: int,
    settings: SpeculativeSettings,
    uniforms: Uniforms,
    end_ids: frozenset[int],
) -> Outcome:
    """Let the verifier walk down the tree; the target's laws are made where it comes, and see what leads there."""
    tree = draft.tree

    def law_after(node: int) -> Law:
        path = list(tree.path(node))
        seen = torch.cat((history, tree.tokens[path]))
        return observe.law_after(plain(logits[node - ROOT]), settings.processors, seen, position + len(path))

    def uniforms_at(depth: int, count: int) -> list[float]:
        return uniforms.at(position + depth, count).tolist()

    room = settings.max_new_tokens - position
    return verify(tree, draft.laws, settings.rule, law_after, uniforms_at, end_ids, room)


def _keep(cache: KVCache, text: int, accepted: Sequence[int]) -> None:
    """Leave in the cache the text and the nodes accepted, and nothing else."""
    if list(accepted) == list(range(len(accepted))):
        cache.crop(text + len(accepted))
    else:
        cache.keep([*range(text), *(text + node for node in accepted)])
    assert cache.length == text + len(accepted)


@torch.inference_mode()
def _record(
    position: int, draft: Draft, outcome: Outcome, settings: SpeculativeSettings, draft_forwards: int, token: TokenOf
) -> SpeculativeStep:
    """The round as a trace value."""
    nodes = _nodes(draft, token)
    accepted = tuple(nodes[node].token for node in outcome.accepted)
    added = None if outcome.added is None else _addition(outcome.added, settings.top, token)
    return SpeculativeStep(
        position=position,
        nodes=nodes,
        verdicts=tuple(_verdict(judgement, outcome, settings, token) for judgement in outcome.judgements),
        added=added,
        emitted=accepted if added is None else (*accepted, added.token),
        ending=outcome.ending,
        draft_forwards=draft_forwards,
    )


def _nodes(draft: Draft, token: TokenOf) -> tuple[DraftNode, ...]:
    tree = draft.tree
    columns = tree.parents.tolist(), tree.tokens.tolist(), draft.laws, tree.depths().tolist()
    return tuple(
        DraftNode(node, None if parent == ROOT else parent, token(id), prob(law, id), depth)
        for node, (parent, id, law, depth) in enumerate(zip(*columns, strict=True))
    )


def _verdict(judgement: Judgement, outcome: Outcome, settings: SpeculativeSettings, token: TokenOf) -> Verdict:
    """A ruling with both laws, each listing the likeliest tokens of either, the one judged, and what came instead."""
    case, ruling = judgement.case, judgement.ruling
    likeliest = observe.shown_ids((case.target, case.draft), settings.top, case.token)
    ids = list(dict.fromkeys([*likeliest, *_instead(judgement, outcome)]))
    return Verdict(
        node=judgement.node,
        rule=settings.rule.name,
        target_prob=case.p,
        draft_prob=case.q,
        rank=case.rank,
        threshold=ruling.threshold,
        uniform=ruling.uniform,
        accepted=ruling.accepted,
        target=observe.distribution(case.target, ids, token),
        draft=observe.distribution(case.draft, ids, token),
        drawn=None if ruling.drawn is None else token(ruling.drawn),
    )


def _instead(judgement: Judgement, outcome: Outcome) -> Iterator[int]:
    """What the target drew itself where this token was judged: by the exact rule, and once all there were rejected."""
    if judgement.ruling.drawn is not None:
        yield judgement.ruling.drawn
    rest = outcome.judgements[outcome.judgements.index(judgement) :]
    if outcome.added is not None and not any(each.ruling.accepted for each in rest):
        yield outcome.added.token


def _addition(added: Added, top: int, token: TokenOf) -> Addition:
    ids = observe.shown_ids((added.law,), top, added.token)
    law = observe.distribution(added.law, ids, token)
    return Addition(token(added.token), prob(added.law, added.token), added.uniform, law)
