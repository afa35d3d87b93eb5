"""Parsers of the command line whose errors are one line; know no command."""

import argparse
from itertools import islice
from typing import NoReturn


class Command(argparse.ArgumentParser):
    """One line an error; and options may stand before, between and after what is named by its place."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; `{self.prog} --help` says what it takes")

    def parse_known_args(self, args=None, namespace=None):
        options, rest, words = [], [], iter(args)
        for word in words:
            if word == "--":
                rest += [word, *words]
            elif self._parse_optional(word):  # not a number below zero, nor a sentence that begins with a dash
                takes = self._option_string_actions.get(word)
                options += [word, *islice(words, int(takes is not None and takes.nargs is None))]
            else:
                rest.append(word)
        return super().parse_known_args([*options, *rest], namespace)


class Commands(Command):
    """Of which the first word says which."""

    parse_known_args = argparse.ArgumentParser.parse_known_args
