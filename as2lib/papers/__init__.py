"""The papers, a room each: which systems their tables compare, and what the papers published; trains nothing."""
