"""Speculative decoding: a draft proposes several tokens, the target reads them in one forward and judges each."""
