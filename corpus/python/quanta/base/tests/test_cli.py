import pytest

pytestmark = pytest.mark.cli


def test_convert(run):
    assert run(12, "km", "m") == (0, "12000 m\n")


def test_table(run, golden):
    code, out = run(2, "h")
    assert code == 0
    golden("hours.txt", out)


def test_more_units(run, units_file):
    assert run(1, "league", "km", "--units", units_file) == (0, "4.82803 km\n")


def test_value_is_a_number(run, capsys):
    with pytest.raises(SystemExit) as stop:
        run("twelve", "km", "m")
    assert stop.value.code == 2
    assert "invalid float value: 'twelve'" in capsys.readouterr().err
