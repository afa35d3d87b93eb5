"""What the commands of `as2` do, a module a task; `as2lib.cli` says what each takes."""
