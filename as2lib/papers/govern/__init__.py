"""GOVERN, 2024: teachers that vote on each sample."""
