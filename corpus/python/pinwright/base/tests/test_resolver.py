import pytest

from pinwright import Index, ResolveError, resolve


def pinned(pins):
    return {pin.name: str(pin.version) for pin in pins}


def test_newest_version_wins(index):
    assert pinned(resolve(index, {"http": "*"})) == {"http": "3.0.0"}


def test_goes_back_on_a_conflict(index):
    assert pinned(resolve(index, {"web": "*"})) == {"http": "2.3.0", "log": "1.9.0", "web": "1.4.0"}


def test_via_names_who_asked(index):
    pins = {pin.name: pin.via for pin in resolve(index, {"web": "*", "log": "1.9.0"})}
    assert pins == {"http": ("web",), "log": ("web",), "web": ()}


def test_conflict_is_explained(index):
    with pytest.raises(ResolveError) as caught:
        resolve(index, {"web": "1.4.0", "http": "^3.0"})
    assert str(caught.value) == "no version of http: (root) wants ^3.0, web wants ^2.1"


def test_cycles_are_fine():
    index = Index()
    index.add("a", "1.0.0", {"b": "*"})
    index.add("b", "1.0.0", {"a": "^1.0"})
    assert pinned(resolve(index, {"a": "*"})) == {"a": "1.0.0", "b": "1.0.0"}
