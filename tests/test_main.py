import json
import re
from urllib.parse import unquote

import ir_measures
import pandas
import pytest

from as2lib.__main__ import main
from tests.hostile import HOSTILE


def test_the_plan_says_what_is_done_and_what_is_to_do(trained, capsys):
    assert main(["plan", "tiny"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [line.split() for line in lines]
    assert ["done", "mhs/3h1/seed-0"] in [found[:2] for found in words]
    assert ["to", "do", "direct/albert-base/seed-0"] in [found[:3] for found in words]
    assert "to do, about" in lines[-1]


@pytest.mark.parametrize(
    ("gpus", "more", "asked"),
    [
        ("", ["a.html"], ["--cores", "3", "a.html"]),
        ("0,1", ["a.html"], ["--resources", "gpu=2", "--cores", "3", "a.html"]),
        ("0,1", ["--profile", "profiles/slurm"], ["--cores", "3", "--profile", "profiles/slurm"]),
    ],
)
def test_a_study_gives_snakemake_its_cores_its_gpus_and_what_follows_the_dashes(root, monkeypatch, gpus, more, asked):
    found = []
    (root / "Snakefile").touch()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    monkeypatch.setattr("as2lib.commands.walk", lambda store, lock, *arguments, **_: found.extend(arguments) or 0)
    assert main(["study", "tiny", "--cores", "3", "--", *more]) == 0
    assert found == ["--config", "study=params/tiny.yaml", *asked]


def test_a_page_whose_table_is_gone_is_made_again(root, monkeypatch):
    reports, found = root / "reports" / "tiny", []
    (reports / "tables").mkdir(parents=True)
    (root / "Snakefile").touch()
    (reports / "tables" / "00_table_1.csv").touch()
    (reports / "index.html").write_text('<a href="tables/00_table_1.csv">csv</a>')
    (reports / "03_distillation.html").write_text('<a href="tables/03_table_1.csv">csv</a>')
    monkeypatch.setattr("as2lib.commands.walk", lambda store, lock, *arguments, **_: found.extend(arguments) or 0)
    assert main(["study", "tiny"]) == 0
    assert found == ["--config", "study=params/tiny.yaml", "--forcerun", "notebook_03", "--cores", "2"]


def test_show_says_where_a_run_comes_from_and_where_it_goes(trained, capsys):
    assert main(["show", "teacher/albert/seed-0", "--study", "tiny"]) == 0
    said = capsys.readouterr().out
    assert "start     transfer/albert-large/seed-0" in said
    assert "mhs/3h1/seed-0" in said.split("used by")[1].splitlines()[0]
    assert "02_teachers" in next(line for line in said.splitlines() if line.startswith("read by"))
    assert "15 questions, policy answered, ties against the system" in said


def test_show_estimates_a_run_and_all_that_would_be_made_for_it(root, capsys):
    """One head a teacher: three teachers, each after its transfer step, and the student's own transfer step."""
    assert main(["show", "mhs/3h1/seed-0", "--study", "tiny"]) == 0
    state = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(
        r"state     to do, about \d+ s of 1 .*; with the 7 missing it is made from, \d+ s of 1 .*", state
    )
    assert main(["show", "transfer/electra-base/seed-0", "--study", "tiny"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("processor core")


def test_fit_says_its_precision_and_another_one_makes_another_run(root, capsys):
    assert main(["fit", "tiny", "transfer/electra-base/seed-0", "lexical/word_overlap", "--quiet"]) == 0
    said = {line.split()[3]: line.split()[-1] for line in capsys.readouterr().out.splitlines()}
    assert said == {"transfer/electra-base/seed-0": "float32", "lexical/word_overlap": "s"}
    assert main(["fit", "tiny", "transfer/electra-base/seed-0", "--quiet", "--precision", "bf16"]) == 0
    assert capsys.readouterr().out.split()[-1] == "bf16"


def test_a_written_run_file_gives_trec_evals_metrics(trained, tmp_path, capsys):
    path = tmp_path / "out.run"
    run = "lexical/overlap_then_rank"  # no two candidates tie: trec_eval has a rule of its own
    assert main(["score", run, "--study", "tiny", "--trec", str(path)]) == 0
    scores = trained.study.run(run).scores("test")
    assert not scores.duplicated(["question_id", "score"]).any()
    judged = scores.groupby("question_id")["label"].transform("max") == 1
    qrels = [
        ir_measures.Qrel(row.question_id, f"{row.question_id}-{row.position}", int(row.label))
        for row in scores[judged].itertuples()
    ]
    found = ir_measures.calc_aggregate([ir_measures.AP], qrels, ir_measures.read_trec_run(str(path)))
    said = capsys.readouterr().out
    assert f"MAP {100 * found[ir_measures.AP]:.2f}" in said
    table = pandas.read_csv(path, sep=" ", header=None)
    assert len(table) == 72
    assert (table.groupby(0)[3].apply(list).map(lambda ranks: ranks == [1, 2, 3, 4])).all()


def test_any_pairs_are_scored_by_a_run_or_a_folder_with_and_without_labels(trained, trained_root, tmp_path, capsys):
    pairs = str(trained_root / "test.tsv")
    assert main(["score", "mhs/3h1/seed-0", pairs, "--study", "tiny", "--out", str(tmp_path / "a.tsv")]) == 0
    assert "MAP" in capsys.readouterr().out
    bare = tmp_path / "bare.csv"
    pandas.read_csv(pairs, sep="\t").drop(columns="label").to_csv(bare, index=False)
    folder = str(trained.study.run("mhs/3h1/seed-0").model_folder)
    assert main(["score", folder, str(bare), "--out", str(tmp_path / "b.tsv")]) == 0
    assert "MAP" not in capsys.readouterr().out
    first, second = (pandas.read_csv(tmp_path / name, sep="\t") for name in ("a.tsv", "b.tsv"))
    pandas.testing.assert_frame_equal(first, second)


def test_a_folder_without_pairs_and_an_unknown_run_are_one_line(trained, capsys):
    folder = str(trained.study.run("mhs/3h1/seed-0").model_folder)
    assert main(["score", folder]) == 2
    assert main(["rank", "mhs/9h9", "who ?", "me", "--study", "tiny"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_rank_prints_the_candidates_best_first_and_says_its_precision(trained, capsys, precision):
    folder = str(trained.study.run("mhs/3h1/seed-0").model_folder)
    command = ["rank", folder, "where is the red ?", "the red is here", "the boat is here", "--precision", precision]
    assert main(command) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert len(lines) == 2
    assert float(lines[0].split()[1]) >= float(lines[1].split()[1])
    assert printed.err == f"ranked 2 candidates in {precision}\n"


def test_ids_with_blanks_and_formulas_are_whole_fields_of_what_score_writes(trained, tmp_path):
    pairs, run, table = tmp_path / "my.jsonl", tmp_path / "my.run", tmp_path / "my.tsv"
    ids = ["two words", "=cmd|' /C calc'!A0", "a\u3000b\tc%20"]
    rows = [{"question_id": one, "question": "where ?", "answer": text} for one in ids for text in ("here", "there")]
    pairs.write_text("\n".join(map(json.dumps, rows)))
    given = ["score", "mhs/3h1/seed-0", str(pairs), "--study", "tiny", "--trec", str(run), "--out", str(table)]
    assert main(given) == 0
    fields = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
    assert {len(line) for line in fields} == {6}
    assert [unquote(line[0]) for line in fields[::2]] == ids
    assert [str(one).removeprefix("'") for one in pandas.read_csv(table, sep="\t")["question_id"][::2]] == ids
    assert "\n=" not in table.read_text()


def test_a_candidate_cannot_command_the_terminal(trained, capsys):
    folder = str(trained.study.run("mhs/3h1/seed-0").model_folder)
    assert main(["rank", folder, "where ?", *HOSTILE]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == len(HOSTILE)
    assert not set(said) - {"\n"} & {chr(code) for code in (*range(32), *range(127, 160))}
    assert main(["plan", "\x1b[2Jnothing"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_scores_are_kept_where_metrics_cannot_be_computed(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "q1\twhere ?\there\t0\nq1\twhere ?\tthere\t0\n"
    (tmp_path / "none.tsv").write_text(f"question_id\tquestion\tanswer\tlabel\n{rows}")
    command = ["score", "mhs/3h1/seed-0", "none.tsv", "--study", "tiny"]
    assert main([*command, "--out", "out.tsv"]) == 2
    kept = (tmp_path / "out.tsv").read_text()
    assert len(kept.splitlines()) == 3
    capsys.readouterr()
    assert main(command) == 2  # without a file they are printed
    printed = capsys.readouterr()
    assert printed.out == kept
    said = printed.err.splitlines()[-1]
    assert said.startswith("as2 score: none.tsv: scored, but without metrics: expected at least one question")


def test_scores_without_labels_and_ids_are_printed_where_no_file_takes_them(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.csv").write_text("question,answer\nwhere ?,here\nwhere ?,there\nwho ?,me\n")
    assert main(["score", "mhs/3h1/seed-0", "bare.csv", "--study", "tiny"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "question_id\tposition\tscore"
    assert [line.split("\t")[1] for line in lines[1:]] == ["0", "1", "0"]
    assert "Loading weights" not in printed.err


def test_options_may_stand_between_what_is_named_by_its_place(trained, capsys):
    run = "lexical/word_overlap"
    assert main(["fit", "tiny", "--set", "threads=1", run, "--quiet"]) == 0
    assert main(["score", "--study", "tiny", run, "--questions", "all"]) == 0
    assert main(["score", run, "--study", "tiny", "sample", "--split=dev"]) == 2  # its pairs came after an option
    assert "word_overlap" in capsys.readouterr().err
