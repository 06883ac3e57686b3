import pytest

from letterbox import DeliveryError, Outbox, Template, read_contacts

CONTACTS = ["name,email\n", "Ann,ann@example.org\n", "Bob,bob@example.com\n"]


def test_sends_to_everyone(transport):
    report = Outbox(transport).send_all(Template("Hi {{ name }}"), read_contacts(CONTACTS), "News")
    assert report.ok
    assert report.sent == ["ann@example.org", "bob@example.com"]
    assert transport.delivered[0] == ("ann@example.org", "News", "Hi Ann")


def test_temporary_error_is_tried_again(transport, naps):
    transport.codes = [451, 421]
    Outbox(transport, sleep=naps.append).send("ann@example.org", "News", "Hi")
    assert len(transport.delivered) == 1
    assert naps == [0.5, 1.0]


def test_gives_up_after_three_attempts(transport, naps):
    transport.codes = [451, 451, 451]
    with pytest.raises(DeliveryError, match="451"):
        Outbox(transport, sleep=naps.append).send("ann@example.org", "News", "Hi")
    assert transport.delivered == []
    assert len(naps) == 2


def test_permanent_error_is_not_tried_again(transport, naps):
    transport.codes = [550]
    with pytest.raises(DeliveryError):
        Outbox(transport, sleep=naps.append).send("ann@example.org", "News", "Hi")
    assert naps == []


def test_failures_are_reported_and_the_rest_is_sent(transport):
    transport.codes = [550]
    report = Outbox(transport).send_all(Template("Hi"), read_contacts(CONTACTS), "News")
    assert report.failed == {"ann@example.org": "550 try later"}
    assert report.sent == ["bob@example.com"]
    assert not report.ok


def test_attempts_must_be_positive(transport):
    with pytest.raises(ValueError):
        Outbox(transport, attempts=0)
