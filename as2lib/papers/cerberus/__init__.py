"""CERBERUS: one encoder body with a ranking head for each teacher (Matsubara et al. 2022)."""
