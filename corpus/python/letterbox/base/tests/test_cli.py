from pathlib import Path

from letterbox.cli import main

DATA = Path(__file__).parent / "data"


def test_preview_matches_the_golden_file(capsys):
    code = main(["preview", str(DATA / "members.csv"), str(DATA / "letter.txt")])
    out, err = capsys.readouterr()
    assert out == (DATA / "preview.golden.txt").read_text(encoding="utf-8")
    assert err == "line 5: invalid domain 'localhost'\n"
    assert code == 1


def test_preview_of_a_wrong_template(tmp_path, capsys):
    letter = tmp_path / "letter.txt"
    letter.write_text("{{ seat | shout }}")
    assert main(["preview", str(DATA / "members.csv"), str(letter)]) == 2
    assert "unknown filter 'shout'" in capsys.readouterr().err
