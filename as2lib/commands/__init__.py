"""What the commands of `as2` do with one's own pairs and models; `as2lib.cli` says what each takes.

A module a task: `initiating`, `training`, `ranking`, `scoring`, `exporting`, `upkeep`.  They share what a model's
name means (`named`), its card (`card`), how files and lines are written (`output`), and which errors are one
line (`errors`).
"""
