"""The commands of `as2`, a function each, which says what it takes; a command imports what it needs."""
