from pathlib import Path

import pytest

from pinwright import LockError, Pin, Version, dumps, loads, resolve

DATA = Path(__file__).parent / "data"


def test_lock_of_a_resolution(index):
    assert dumps(resolve(index, {"web": "*"})) == (DATA / "web.lock").read_text()


def test_round_trip():
    pins = [Pin("a", Version(1, 2, 3), ("b", "c")), Pin("b", Version(2, 0, 0, "rc.1"))]
    assert loads(dumps(pins)) == pins


def test_damaged_line_is_named():
    with pytest.raises(LockError, match="line 2: not a version"):
        loads("a==1.0.0\nb==one\n")
