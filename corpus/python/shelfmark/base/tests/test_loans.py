import pytest

from shelfmark import LoanError


def test_lends_for_three_weeks(desk):
    assert desk.lend("ada", "dune").due.isoformat() == "2024-03-22"


def test_item_is_lent_once(desk):
    desk.lend("ada", "dune")
    with pytest.raises(LoanError, match="already on loan"):
        desk.lend("bob", "dune")


def test_give_back_in_time_is_free(desk, clock):
    desk.lend("ada", "dune")
    clock.forward(21)
    assert desk.give_back("dune") == 0


def test_give_back_late_has_a_fine(desk, clock):
    desk.lend("ada", "dune")
    clock.forward(31)
    assert desk.give_back("dune") == 200


def test_renewals_are_limited(desk):
    desk.lend("ada", "dune")
    desk.renew("dune")
    desk.renew("dune")
    with pytest.raises(LoanError):
        desk.renew("dune")


def test_overdue_lists_late_loans(desk, clock):
    desk.lend("ada", "dune", weeks=1)
    desk.lend("bob", "emma", weeks=4)
    clock.forward(10)
    assert [loan.item for loan in desk.overdue()] == ["dune"]
