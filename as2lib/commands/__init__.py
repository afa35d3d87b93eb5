"""What the commands of `as2` do; `as2lib.cli` says what each takes.

A module a task: `studying`, `initiating`, `training`, `scoring` (rank and score), `trec` (compare), `exporting`.  They
share what a model's name means (`named`), how files and lines are written (`output`), and which errors are one line
(`errors`).
"""
