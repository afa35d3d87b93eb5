"""`python tools/import_scores.py reports/<study>/runs …`: scores published as pairs beside log odds, as they are now.

Every number stays as it was.  Runs are those of the study whose folder it is, by their keys; a key that its plan has
not is refused.  It leaves with the last folder of that kind.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy
import pandas
from pyarrow import parquet

from as2lib import Study
from as2lib.metrics.probability import sigmoid
from as2lib.paths import file_sha256
from as2lib.study.published import read_scores, write_columns
from as2lib.study.store import write_json


def numbers_of(folder: Path, name: str, entry: dict) -> pandas.DataFrame:
    """A run's pairs, split after split, and its columns as they are stored."""
    stored = parquet.read_table((folder / name).with_name(f"{Path(name).name}.parquet"))
    pairs = [parquet.read_table(folder / "pairs" / file).to_pandas() for file in entry["pairs"].values()]
    whole = pandas.concat([table.assign(split=split) for split, table in zip(entry["pairs"], pairs, strict=True)])
    whole = whole[["split", "question_id", "position", "label"]].reset_index(drop=True)
    for column in stored.column_names:
        numbers = stored[column].to_numpy()
        whole["log_odds" if column == "score" and numbers.dtype == "float32" else column] = numbers
    return whole


def import_study(folder: Path) -> None:
    old, out = json.loads((folder / "index.json").read_text()), folder.parent / "scores"
    sources, runs, columns = json.loads((folder / "sources.json").read_text()), {}, 0
    taken = {entry["identity"]: {"run": name} for name, entry in old.items()}  # a plan has rankers that are published
    write_json(out / "index.json", {"sources": sources, "runs": taken})
    study = Study.load(folder.parent.name)
    keys = {study.store.identity(name): name for name in study.plan}
    for name, entry in sorted(old.items()):
        key = entry["identity"]
        if key not in keys:
            raise SystemExit(
                f"{folder}: {name}: expected a run of {study.name}, got one of other data, parents or settings"
            )
        if key in runs:
            print(f"{name}: of equal content with {runs[key]['run']}")
            continue
        path, files = out / name, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, digest in entry["files"].items():
            source = (folder / name).with_name(file)
            assert file_sha256(source) == digest, file
            if file.endswith(".jsonl"):
                shutil.copyfile(source, path.with_name(file))
            else:
                table = numbers_of(folder, name, entry)
                write_columns(path.with_name(file), table)
                columns += compared(path.with_name(file), table)
            files[file] = file_sha256(path.with_name(file))
        runs[key] = {"run": name, "commit": entry["commit"], "version": entry["version"], "facts": entry["facts"]}
        runs[key] |= {"files": files} | ({"last is best": True} if entry.get("last is best") else {})
    if (folder / "times").exists():
        shutil.copytree(folder / "times", out / "times", dirs_exist_ok=True)
    write_json(out / "index.json", {"sources": sources, "runs": runs})
    print(f"{study.name}: {len(old)} runs in, {len(runs)} out; {columns} columns, each number as it was")


def compared(file: Path, table: pandas.DataFrame) -> int:
    """How many columns of a file give each split the scores that were published, to the last bit."""
    count = 0
    for split, part in table.groupby("split", sort=False):
        read = read_scores(file, file_sha256(file), split)
        assert read[["question_id", "position", "label"]].to_numpy().tolist() == part.iloc[:, 1:4].to_numpy().tolist()
        for name in part.columns[4:]:
            numbers = part[name].to_numpy()
            scores = sigmoid(numbers.astype("float64")) if numbers.dtype == "float32" else numbers
            if not numpy.isnan(scores).all():
                assert read["score" if name == "log_odds" else name].to_numpy().tobytes() == scores.tobytes(), file
                count += 1
    return count


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        import_study(Path(argument).resolve())
