import pytest

from letterbox import DeliveryError


class FakeTransport:
    """Fails with the given codes first, one per call, then delivers."""

    def __init__(self):
        self.codes = []
        self.delivered = []

    def deliver(self, recipient, subject, body):
        if self.codes:
            raise DeliveryError(self.codes.pop(0), "try later")
        self.delivered.append((recipient, subject, body))


@pytest.fixture
def transport():
    return FakeTransport()


@pytest.fixture
def naps():
    return []
