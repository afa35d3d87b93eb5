"""What the commands of `as2` do with one's own pairs and models; `as2lib.cli` says what each takes.

A module a task: `initiating`, `training`, `ranking`, `evaluating`, `exporting`, `upkeep`.  They share what a model's
name means (`named`), its card (`card`), how files and lines are written (`output`), which errors are one line
(`errors`), and the terminal and caches that they find (`environment`).
"""
