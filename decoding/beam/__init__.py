"""Beam search: the loop, its selection, the pruning rules, stochastic and exhaustive search."""
