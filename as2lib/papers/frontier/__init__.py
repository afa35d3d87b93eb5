"""Every system of every paper on one scale: accuracy against cost, and combinations of them; trains nothing."""
