"""Experiments with the samplers: many draws against the exact law, costs, the alias table being built, Gumbel noise."""
