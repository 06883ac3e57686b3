import pytest

from pinwright import Index


@pytest.fixture
def index():
    """A small world: web needs http and log; log 2 needs http 3, which web can't use."""
    index = Index()
    index.add("web", "1.4.0", {"http": "^2.1", "log": "*"})
    index.add("web", "1.3.0", {"http": "^2.0"})
    index.add("http", "3.0.0")
    index.add("http", "2.3.0")
    index.add("http", "2.1.0")
    index.add("log", "2.0.0", {"http": "^3.0"})
    index.add("log", "1.9.0")
    return index
