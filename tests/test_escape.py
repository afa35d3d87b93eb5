import csv
import io
import re
import unicodedata
from urllib.parse import unquote

import mistune
import pandas
import pytest
from bs4 import BeautifulSoup

from as2lib import escape
from tests.hostile import HOSTILE


def words(text):
    """What a page can show of a text: blanks are one, and a control character is unknown."""
    shown = ["\ufffd" if unicodedata.category(c) == "Cc" and c not in "\t\n\r" else c for c in text]
    return " ".join("".join(shown).split())


@pytest.mark.parametrize("text", HOSTILE)
def test_html_and_markdown_show_any_text_as_it_is_and_make_no_element_of_it(text):
    cell = BeautifulSoup(f'<p title="{escape.html(text)}">{escape.html(text)}</p>', "html.parser")
    assert [element.name for element in cell.find_all()] == ["p"]
    assert list(cell.p.attrs) == ["title"]
    assert words(cell.p.text) == words(text)
    markdown = mistune.create_markdown(escape=False, plugins=["table", "url", "strikethrough"])
    page = BeautifulSoup(markdown(f"- {escape.markdown(text)}"), "html.parser")
    assert [element.name for element in page.find_all()] == ["ul", "li"]
    assert words(page.li.text) == words(text)
    span = BeautifulSoup(markdown(f"|a|\n|---|\n|{escape.code(text)}|"), "html.parser")
    assert [element.name for element in span.td.find_all()] == ["code"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_terminal_gets_no_character_that_it_would_obey(text):
    said = escape.terminal(text)
    assert not {unicodedata.category(character) for character in said} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_a_terminal_gets_the_joiners_and_blanks_that_scripts_need():
    assert escape.terminal("می\u200cخواهم 日本\u3000語") == "می\u200cخواهم 日本\u3000語"


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_gets_no_command_of_a_text(text):
    said = escape.latex(text)
    for known in (r"\textbackslash ", r"\textasciitilde ", r"\textasciicircum ", *(f"\\{c}" for c in "&%$#_{}")):
        said = said.replace(known, "")
    assert not re.search(r"[\\&%$#_{}~^\n]", said)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_spreadsheet_gets_no_formula_and_numbers_stay_numbers(text):
    file = io.StringIO()
    pandas.DataFrame({"a": [escape.spreadsheet(text)]}).to_csv(file, index=False)
    (shown,) = list(csv.reader(io.StringIO(file.getvalue(), newline="")))[1]
    assert not re.match(r"\s*[=+@\-]", shown)
    assert shown.removeprefix("'") == text.replace("\r", "\n")
    plain = ["-1", "+2.5e-3", -3.0, "– none", "a=b"]
    assert list(map(escape.spreadsheet, plain)) == plain


@pytest.mark.parametrize("text", [*HOSTILE, "plain-1", "50%", "100%20", "% 20", "%2 0"])
def test_a_field_between_blanks_is_one_field_and_gives_its_text_back(text):
    said = escape.field(text)
    assert said.split() == [said]
    assert unquote(said) == text
    assert escape.field("50%-q_1:é") == "50%-q_1:é"
