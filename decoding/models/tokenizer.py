"""A transformers tokenizer as decoders and pages need it: prompts to ids, ids to text, tokens for display."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from decoding.errors import UserError
from decoding.models.bpe import byte_alphabet, merge_steps
from decoding.models.protocol import Template
from decoding.trace import Token
from decoding.values import Merge, Tokenization, Word

MERGES_SHOWN_UP_TO = 64
"""A longer word (in starting pieces) has its tokens but no merges: their record grows with the square."""

BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
"""How a sentencepiece vocabulary writes a single byte."""

Segment = str | int
"""A stretch of ordinary text, or one special token's id."""


class PromptTokenizer:
    """Wraps a fast (Rust-backed) tokenizer. Safe to use from several threads.

    Text that a user typed is text: `<|im_end|>` in a prompt becomes the tokens of those ten
    characters, never the control token. In a chat prompt only the template's own control tokens count.
    """

    def __init__(self, tokenizer: Any, start_id: int | None, model_name: str) -> None:
        self._tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        self._start_id = start_id
        self._model_name = model_name
        self._lock = threading.Lock()
        self._tokens: dict[int, Token] = {}
        added = self._backend.get_added_tokens_decoder()
        self._added = {id: token.content for id, token in added.items()}
        self._special = {token.content: id for id, token in added.items() if token.special}

    @property
    def has_chat_template(self) -> bool:
        """Whether the tokenizer carries a chat template."""
        return bool(self._tokenizer.chat_template)

    def encode(self, text: str, template: Template = "raw") -> list[int]:
        """Ids of a prompt. Raises UserError for text that is empty with nothing to start from,
        a missing chat template, or half a surrogate pair.
        """
        _check_text(text)
        if template == "raw":
            ids = self._ids(text, starts_text=True) or [id for id in (self._start_id,) if id is not None]
            if not ids:
                raise UserError("prompt_empty", model=self._model_name)
            return ids
        if not any(special in text for special in self._special):
            return self._ids(self._render(text), literal=False)
        return [id for segment in self._chat_segments(text) for id in self._segment_ids(segment)]

    def decode(self, ids: Sequence[int]) -> str:
        """Joined text; control tokens written out; a broken character at an end as U+FFFD."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def token(self, id: int) -> Token:
        """The token for display."""
        found = self._tokens.get(id)
        if found is None:
            found = self._tokens[id] = self._read_token(id)
        return found

    def tokenization(self, text: str, template: Template = "raw") -> Tokenization:
        """Tokens, and words with their merges; no words where ours would not give the same tokens."""
        ids = self.encode(text, template)
        tokens = tuple(self.token(id) for id in ids)
        if self._ranks is None:
            return Tokenization(tokens, ())
        segments: list[Segment] = [text] if template == "raw" else self._chat_segments(text)
        words: list[Word] = []
        found: list[int] = []
        lead = len(ids) - sum(len(self._segment_ids(segment)) for segment in segments)
        for segment in [*ids[: max(lead, 0)], *segments]:
            for word_text, word_ids, pieces in self._split(segment):
                words.append(self._word(word_text, len(found), word_ids, pieces))
                found += word_ids
        return Tokenization(tokens, tuple(words) if found == ids else ())

    # Prompts

    def _ids(self, text: str, starts_text: bool = False, literal: bool = True) -> list[int]:
        """`starts_text`: with the start token, where the tokenizer adds one. `literal`: no control tokens in it."""
        with self._lock:  # the option is a field of the shared Rust tokenizer
            self._backend.encode_special_tokens = literal
            return list(self._backend.encode(text, add_special_tokens=starts_text).ids)

    def _render(self, text: str) -> str:
        if not self.has_chat_template:
            raise UserError("no_chat_template", model=self._model_name)
        messages = [{"role": "user", "content": text}]
        try:
            return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # a template is a program of the model's makers
            raise UserError("chat_template_failed", model=self._model_name, reason=str(error)[:200]) from error

    def _chat_segments(self, text: str) -> list[Segment]:
        """The rendered template cut at its own control tokens; those inside the user's text stay text."""
        rendered = self._render(text)
        before, _, after = self._render(_MARK).partition(_MARK)
        first, last = len(before), len(rendered) - len(after)
        if not (rendered.startswith(before) and rendered.endswith(after)):  # the template looks into the text
            first = last = 0
        segments: list[Segment] = []
        start = 0
        pattern = "|".join(re.escape(special) for special in sorted(self._special, key=len, reverse=True))
        for match in re.finditer(pattern, rendered) if pattern else ():
            if match.end() <= first or match.start() >= last:
                segments += [rendered[start : match.start()], self._special[match.group()]]
                start = match.end()
        segments.append(rendered[start:])
        return [segment for segment in segments if segment != ""]

    def _segment_ids(self, segment: Segment) -> list[int]:
        return [segment] if isinstance(segment, int) else self._ids(segment)

    # Tokens for display

    @cached_property
    def _alphabet(self) -> dict[str, int] | None:
        """Letter to byte, where the vocabulary is byte-level."""
        decoder = self._backend.decoder
        return byte_alphabet() if decoder is not None and "ByteLevel" in repr(decoder) else None

    def _read_token(self, id: int) -> Token:
        if id in self._added:
            return Token(id, self._added[id])
        piece = self._backend.id_to_token(id)
        if piece is None:  # a row of the output layer that stands for no token
            return Token(id, f"⟨{id}⟩", b"")
        data = self._bytes(piece)
        try:
            return Token(id, data.decode())
        except UnicodeDecodeError:
            return Token(id, f"⟨{data.hex(' ').upper()}⟩", data)

    def _bytes(self, piece: str) -> bytes:
        if self._alphabet is not None:
            if all(letter in self._alphabet for letter in piece):
                return bytes(self._alphabet[letter] for letter in piece)
            return piece.encode()
        if match := BYTE_TOKEN.fullmatch(piece):
            return bytes([int(match[1], 16)])
        return piece.replace("▁", " ").encode()

    # Words and merges

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int] | None:
        """Pair to its place in the merge list; None where the model is not plain byte-pair encoding."""
        model = json.loads(self._backend.to_str())["model"]
        if model["type"] != "BPE" or model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
            return None
        pairs = (merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"])
        return {(left, right): rank for rank, (left, right) in enumerate(pairs)}

    def _split(self, segment: Segment) -> Iterator[tuple[str, list[int], tuple[str, ...]]]:
        """Each word of a segment: its text, its ids, and the final pieces of the vocabulary."""
        if isinstance(segment, int):
            yield self.token(segment).text, [segment], ()
            return
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer
        text: str = segment if normalizer is None else normalizer.normalize_str(segment)
        for word, _ in splitter.pre_tokenize_str(text) if splitter is not None else [(text, None)]:
            pieces = self._backend.model.tokenize(word)
            yield word, [piece.id for piece in pieces], tuple(piece.value for piece in pieces)

    def _word(self, word: str, first: int, ids: list[int], pieces: tuple[str, ...]) -> Word:
        """`word` is spelled in the vocabulary's letters; its merges are told only if they end in `pieces`."""
        tokens = tuple(self.token(id) for id in ids)
        text = b"".join(token.bytes for token in tokens).decode(errors="replace")
        whole = Word(text, first, len(ids), tokens, ())
        if not pieces or len(word) > MERGES_SHOWN_UP_TO:
            return whole
        assert self._ranks is not None
        steps = merge_steps(word, self._ranks)
        stages = [tuple(word), *(after for _, after in steps)]
        shown = [[self._backend.token_to_id(piece) for piece in stage] for stage in stages]
        if stages[-1] != pieces or any(id is None for stage in shown for id in stage):
            return whole
        start, *after = [tuple(self.token(id) for id in stage) for stage in shown]
        merges = tuple(Merge(rank, now) for (rank, _), now in zip(steps, after, strict=True))
        return Word(text, first, len(ids), start, merges)


_MARK = "\ue000prompt\ue001"


def _check_text(text: str) -> None:
    for letter in text:
        if 0xD800 <= ord(letter) <= 0xDFFF:
            raise UserError("prompt_broken", character=f"U+{ord(letter):04X}")
