import subprocess
import sys

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.errors import EntryNotFoundError

from as2lib import models
from as2lib.ranker import Ranker
from as2lib.runs.card import describe, encoder, model_card, part_name, run_card
from as2lib.runs.make import resolved

ANY_FOLDER = "this folder, or the model's name on the hub"


@pytest.fixture
def folder(trained):
    return trained.study.run("mhs/3h1/seed-0").model_folder


def test_a_trained_model_can_be_uploaded_as_it_stands_and_names_no_folder_of_this_machine(folder, trained_root):
    files = {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in folder.iterdir()} == files
    texts = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix in {".json", ".md"}]
    assert not any(str(trained_root) in text for text in texts)
    assert '"truncation": null' in (folder / "tokenizer.json").read_text()


def test_the_card_says_what_the_model_is_and_what_it_learnt_from(folder, trained):
    card = ModelCard.load(folder / "README.md")
    assert card.data.to_dict() == {
        "library_name": "transformers",
        "pipeline_tag": "text-ranking",
        "tags": ["answer-sentence-selection"],
    }
    text, run = card.text, trained.study.run("mhs/3h1/seed-0")
    assert "1 shared layers and 3 ranking heads, averaged by probability" in text
    assert "| encoder | electra, from nothing: 2 layers of 16 |" in text
    assert "| trained on | `transfer.tsv`, then `train.tsv` |" in text
    assert "| loss | per_head, alpha 0.5, tau 3" in text
    assert "| teachers | `teacher/electra/seed-0`, `teacher/roberta/seed-0`, `teacher/albert/seed-0` |" in text
    assert f"| dev MAP | {100 * run.facts['dev_MAP']:.1f} (answered questions" in text
    assert "| precision | float32 |" in text
    assert run.identity[:24] in text


def test_the_card_is_the_same_bytes_wherever_and_whenever_it_is_written(folder, trained, trained_root):
    written = (folder / "README.md").read_text(encoding="utf-8")
    job, facts = resolved(trained, "mhs/3h1/seed-0"), trained.study.run("mhs/3h1/seed-0").facts
    assert run_card(job, {**facts, "seconds": 999.0}) == written
    assert str(trained_root) not in written


def test_a_run_that_was_never_evaluated_claims_no_dev_map(trained):
    name = "transfer/electra-base/seed-0"
    job, facts = resolved(trained, name), trained.find(name, need_model=True).facts
    assert "dev MAP" not in run_card(job, facts | {"dev_MAP": None})
    assert [step.name for step in job.lineage] == [name]


def test_the_cards_three_lines_open_the_folder_in_plain_transformers_in_either_order_of_imports(folder):
    card = ModelCard.load(folder / "README.md").text
    lines = card.split("```python")[2].split("```")[0].replace(ANY_FOLDER, str(folder))
    assert len([line for line in lines.splitlines() if line]) == 3
    words = "who founded it ?", "it was founded by ada"
    end = f"print(model(**tokenizer(*{words}, return_tensors='pt')).logits.softmax(-1)[0, 1].item())"
    ranked = Ranker.load(folder).rank(words[0], [words[1]])[0]
    before = "import os, torch  # once for both orders\nif os.fork():\n    os.wait()\nelse:\n"
    before += "    from transformers.models.auto.modeling_auto import AutoModel\n"
    found = subprocess.run([sys.executable, "-c", before + lines + end], capture_output=True, text=True, check=True)
    assert [*map(float, found.stdout.split())] == pytest.approx([ranked.score] * 2, abs=1e-6)


def test_the_example_of_the_card_runs(folder):
    card = ModelCard.load(folder / "README.md").text
    example = card.split("```python")[1].split("```")[0]
    said = []
    exec(example.replace(ANY_FOLDER, str(folder)), {"print": lambda *a: said.append(a)})
    assert sorted(text for _, text in said) == ["It is red.", "It was founded by Ada."]


@pytest.mark.parametrize(
    ("base_model", "said"),
    [("google/electra-base-discriminator@abc", "google/electra-base-discriminator"), ("params", None), (None, None)],
)
def test_a_base_model_is_a_hub_name_and_no_folder(trained, base_model, said):
    card = ModelCard(model_card("title", describe(None), {"rows": "one"}, base_model))
    assert card.data.base_model == said


def test_an_encoder_is_named_with_its_layers_and_a_folder_without_its_path(trained, trained_root):
    assert encoder({"name": "org/name", "layers": 4}) == "`org/name`, its first 4 layers"
    assert encoder({"name": str(trained_root / "params")}) == "`params`"
    assert encoder({}) == ""


@pytest.mark.parametrize(
    ("part", "said"), [("wikiqa:train", "`wikiqa:train`"), ("/some/where/my.tsv", "`my.tsv`"), ("/a/b:dev", "`b:dev`")]
)
def test_a_data_source_is_named_without_this_machines_folders(part, said):
    assert part_name(part) == said


@pytest.mark.parametrize(("name", "tags"), [("mhs/3h1/seed-0", ["cerberus"]), ("teacher/electra/seed-0", [])])
def test_pushing_to_the_hub_uploads_weights_configuration_and_our_card(trained, tmp_path, monkeypatch, name, tags):
    folder, pushed = trained.study.run(name).model_folder, {}

    class Hub:
        def create_repo(self, repo_id, **options):
            return type("Repo", (), {"repo_id": repo_id})

        def create_commit(self, repo_id, operations, **options):
            for operation in operations:
                with operation.as_file() as file:
                    pushed[operation.path_in_repo] = file.read()

    def download(repo_id, name, **options):
        if name not in pushed:
            raise EntryNotFoundError(name)
        (tmp_path / name).write_bytes(pushed[name])
        return tmp_path / name

    monkeypatch.setattr("transformers.utils.hub.hf_api", Hub)
    monkeypatch.setattr("huggingface_hub.repocard.hf_hub_download", download)
    student = models.load(folder)
    student.push_to_hub("someone/student")
    Ranker.load(folder).encoder.tokenizer.push_to_hub("someone/student")
    assert {"config.json", "model.safetensors", "README.md", "tokenizer.json", "tokenizer_config.json"} <= set(pushed)
    assert pushed["model.safetensors"] == (folder / "model.safetensors").read_bytes()
    card, own = ModelCard(pushed["README.md"].decode()), ModelCard.load(folder / "README.md")
    assert card.text == own.text
    assert (card.data.library_name, card.data.tags) == ("transformers", ["answer-sentence-selection", *tags])
