import numpy
import pytest
from safetensors.numpy import save_file

from as2lib.runs import identity
from as2lib.runs.identity import check_tensors, tensors_fingerprint, weights_identity


def test_tensors_count_and_not_the_file_that_holds_them(tmp_path):
    weights = {"a": numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "b": numpy.ones(2, dtype=numpy.float16)}
    save_file(weights, tmp_path / "one.safetensors")
    save_file(dict(reversed(weights.items())), tmp_path / "two.safetensors", metadata={"format": "pt"})
    one, two = (tensors_fingerprint(tmp_path / f"{name}.safetensors") for name in ("one", "two"))
    assert one == two
    others = [{**weights, "a": weights["a"].T.copy()}, {**weights, "b": weights["b"] + 1}, {"a": weights["a"]}]
    for number, other in enumerate([*others, {"c": weights["a"], "b": weights["b"]}]):
        save_file(other, tmp_path / f"{number}.safetensors")
        assert tensors_fingerprint(tmp_path / f"{number}.safetensors") != one


def test_a_known_encoder_is_its_tensors_with_and_without_its_files_and_others_are_refused(root, tmp_path, monkeypatch):
    name, folder = "org/encoder", tmp_path / "encoder"
    folder.mkdir()
    save_file({"a": numpy.zeros(3, dtype=numpy.float32)}, folder / "model.safetensors")
    monkeypatch.setitem(identity.TENSORS, name, tensors_fingerprint(folder / "model.safetensors"))
    without = weights_identity(name)
    (root / "params" / "local.yaml").write_text(f"local: {{{name}: {folder}}}\n")
    assert weights_identity(name) == without == {"name": name, "tensors": identity.TENSORS[name]}
    check_tensors.__wrapped__(name)
    save_file({"a": numpy.ones(3, dtype=numpy.float32)}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"org/encoder: expected the weights of fingerprint \w+, got \w+ in .*encoder"):
        check_tensors.__wrapped__(name)
