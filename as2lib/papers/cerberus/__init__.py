"""Matsubara et al., Findings of EMNLP 2022: one encoder with k heads, each taught by another large model."""
