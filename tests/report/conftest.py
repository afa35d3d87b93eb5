from tests.study.conftest import root  # noqa: F401
