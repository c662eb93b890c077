"""Decoding Lab's core: how a language model's probabilities become text.

Import what you need from its modules (`decoding.api` is the front door of a notebook).
Importing this package, or `decoding.trace` and `decoding.codec`, does not load torch.
"""
