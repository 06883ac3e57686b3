"""Shared by the tests."""

import io
from pathlib import Path

from tempo.cli import main

GOLDEN = Path(__file__).parent / "golden"


def run_cli(*argv):
    """Exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    code = main([str(arg) for arg in argv], out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def assert_golden(name, text):
    expected = (GOLDEN / name).read_text(encoding="utf-8")
    assert text == expected
