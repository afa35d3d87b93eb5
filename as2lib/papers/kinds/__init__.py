"""What CERBERUS's heterogeneous teachers are worth where families are one: students of teachers that differ by kind."""
