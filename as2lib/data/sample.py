"""The corpora that the package ships: questions about made-up places, written by `tools/make_sample.py`."""

from pathlib import Path

FILE = Path(__file__).with_name("sample.parquet")
VERSION, SEED = 1, 7  # of these corpora, as identities have them
UNLABELLED = "sample-unlabelled"
SPLITS = {
    "sample": ("train", "dev", "test"),
    "sample-transfer": ("train", "dev", "test"),
    "sample-wide": ("dev", "test"),
    UNLABELLED: ("train",),
}
