"""Speed and agreement, ours beside transformers' own, in one run."""
