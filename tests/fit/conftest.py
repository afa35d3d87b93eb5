import pytest


@pytest.fixture(autouse=True, scope="module")
def root(tmp_path_factory):
    """A project folder of the tests' own, where tokens and teachers' logits are kept."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("project")
        patch.setenv("AS2_ROOT", str(folder))
        yield folder
