"""What a run leaves on disk: json, scores and logits, each written whole or not at all."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.intact import Damaged, keep_within_bound, note, shown
from as2lib.paths import written_whole

if TYPE_CHECKING:
    import datasets
    import pandas


def write_json(path: Path, content: Any) -> None:
    """Written whole or not at all: a temporary name, then a rename."""
    with written_whole(path) as temporary:
        temporary.write_text(
            json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
        )


def write_lines(path: Path, entries: list[Any]) -> None:
    """A JSON value a line, written whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")


def write_scores(path: Path, pairs: "datasets.Dataset", score: Any, columns: dict[str, Any] | None = None) -> None:
    """One row a pair: question_id, position in the question, label, score, and more columns; no text."""
    import numpy
    import pandas

    table = pandas.DataFrame({"question_id": pairs["question_id"][:]})
    table["position"] = table.groupby("question_id", sort=False).cumcount().astype("int32")
    table["label"] = numpy.asarray(pairs["label"][:], dtype="int8")
    table["score"] = numpy.asarray(score, dtype="float64")
    write_parquet(path, table.assign(**(columns or {})))


def write_parquet(path: Path, table: "pandas.DataFrame", small: bool = False) -> None:
    """Written whole or not at all.

    small: for a repository, at the price of time: scores to ten digits, those of each head or exit to seven.
    """
    numbers = [column for column in table if table[column].dtype.kind == "f"]
    if small:
        parts = {name: 24 if name.startswith(("head_", "exit_")) else 36 for name in numbers}
        table = table.assign(**{name: _rounded(table[name], bits) for name, bits in parts.items()})
    texts = [column for column in table if column not in numbers]
    packed = {"compression_level": 19, "use_byte_stream_split": numbers, "use_dictionary": texts} if small else {}
    with written_whole(path) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd" if small else "snappy", **packed)


def _rounded(numbers: "pandas.Series", bits: int) -> Any:
    """Rounded to so many bits of their mantissa: the bytes behind are 0, which a file packs to nothing."""
    import numpy

    mantissa, exponent = numpy.frexp(numbers.to_numpy())
    return numpy.ldexp(numpy.rint(numpy.ldexp(mantissa, bits)), exponent - bits)


def write_logits(path: Path, logits: Any, pairs_fingerprint: str, model: Mapping[str, str] | None = None) -> None:
    """A teacher's logits, (m, c) float32, with the fingerprint of the pair set that they are over.

    model: the SHA-256 of the files of the model whose they are.
    """
    from safetensors.numpy import save_file

    told = {
        "pairs": pairs_fingerprint,
        "model": json.dumps(model or {}),
        "sha256": sha256(logits.tobytes()).hexdigest(),
    }
    with written_whole(path) as temporary:
        save_file({"logits": logits}, temporary, metadata=told)
    keep_within_bound(path)


def read_logits(path: Path, pairs_fingerprint: str, model: Mapping[str, str] | None = None) -> Any:
    """Stored logits, or None where they are not there, not as they were written (named), or of another model.

    Raises ValueError where they are over another pair set than the one of that fingerprint.
    """
    if not path.exists():
        return None
    try:
        told, logits = check_logits(path)
    except Damaged as error:
        note(f"{error}; they are computed again")
        return None
    if told["pairs"] != pairs_fingerprint:
        raise ValueError(
            f"{path.name}: expected logits over the pair set {pairs_fingerprint[:12]}, these are over "
            f"{told['pairs'][:12]}; remove the file to compute them anew"
        )
    return logits if model is None or json.loads(told.get("model", "{}")) == model else None


def check_logits(path: Path) -> tuple[dict[str, str], Any]:
    """What a file of logits says of itself, and the logits.  Raises Damaged where it is not as it was written."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stored:
            told, logits = stored.metadata() or {}, stored.get_tensor("logits")
        if "pairs" in told and told.get("sha256", "") in ("", sha256(logits.tobytes()).hexdigest()):
            return told, logits
    except (SafetensorError, OSError, ValueError):
        pass
    raise Damaged(f"{shown(path)}: expected a teacher's logits as they were written, got other bytes")
