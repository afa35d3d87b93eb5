"""Every system of every paper on one scale: accuracy against cost, and what no paper tried; trains nothing."""
