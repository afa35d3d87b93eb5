"""Bonadiman and Moschitti, COLING 2020: a million parameters that read the whole list of candidates."""
