"""What the commands of `as2` do with one's own pairs and models; `as2lib.cli` says what each takes."""
