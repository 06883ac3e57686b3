from pathlib import Path

import pytest

from quanta import Registry
from quanta.cli import main

DATA = Path(__file__).parent / "data"


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def units_file(tmp_path):
    path = tmp_path / "units.txt"
    path.write_text("league = 4828.032 m\nstone = 6.35029318 kg\n")
    return path


@pytest.fixture
def run(capsys):
    """Runs the command and gives its exit code and output."""

    def run(*args):
        code = main([str(arg) for arg in args])
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def golden():
    """Compares a text with a file in tests/data."""

    def compare(name, text):
        assert text == (DATA / name).read_text()

    return compare
