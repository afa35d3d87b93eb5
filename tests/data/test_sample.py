import pandas

from as2lib.data import sample
from tools import make_sample


def test_the_corpora_that_the_package_ships_are_those_that_the_tool_makes():
    pandas.testing.assert_frame_equal(pandas.read_parquet(sample.FILE), make_sample.corpora())
