package clock

import "testing"

func TestParse(t *testing.T) {
	got, err := Parse("07:30")
	if err != nil {
		t.Fatal(err)
	}
	if got != 450 {
		t.Errorf("got %d, want 450", got)
	}
}

func TestParseBadText(t *testing.T) {
	_, err := Parse("ab:cd")
	if err == nil || err.Error() != `bad time "ab:cd"` {
		t.Errorf("got %v", err)
	}
}

func TestAdd(t *testing.T) {
	if got := MustParse("07:30").Add(45); got != MustParse("08:15") {
		t.Errorf("got %v", got)
	}
}

func TestAddPastMidnight(t *testing.T) {
	if got := MustParse("23:50").Add(20); got != MustParse("00:10") {
		t.Errorf("got %v", got)
	}
}

func TestString(t *testing.T) {
	if got := MustParse("07:30").String(); got != "07:30" {
		t.Errorf("got %q", got)
	}
}
