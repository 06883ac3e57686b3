import pytest

from tests.helpers import assert_golden, run_cli


def test_parse():
    assert run_cli("parse", "1h30m") == (0, "5400\n", "")


def test_format():
    assert run_cli("format", "5400") == (0, "1h30m\n", "")


def test_bad_duration():
    code, out, err = run_cli("parse", "soon")
    assert code == 2
    assert out == ""
    assert err == "tempo: cannot read 'soon'\n"


def test_plan_with_holidays(holiday_file):
    code, out, _ = run_cli("plan", "2024-03-26", 4, "--holidays", holiday_file)
    assert code == 0
    assert_golden("plan.txt", out)


def test_plan_without_holidays():
    code, out, _ = run_cli("plan", "2024-03-01", 2)
    assert code == 0
    assert_golden("plan-plain.txt", out)


def test_unknown_command():
    with pytest.raises(SystemExit):
        run_cli("nonsense")
