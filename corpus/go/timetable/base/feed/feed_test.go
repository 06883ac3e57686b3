package feed

import (
	"strings"
	"testing"

	"example.com/timetable"
	"example.com/timetable/clock"
)

func TestRead(t *testing.T) {
	table := timetable.New()
	if err := Read(strings.NewReader("12,07:30\n7,08:00\n12,07:45\n"), table); err != nil {
		t.Fatal(err)
	}
	got := table.Departures("12")
	if len(got) != 2 || got[0] != clock.MustParse("07:30") || got[1] != clock.MustParse("07:45") {
		t.Errorf("got %v", got)
	}
}

func TestReadWithoutComma(t *testing.T) {
	err := Read(strings.NewReader("12,07:30\nnonsense\n"), timetable.New())
	if err == nil || err.Error() != "line 2: no comma" {
		t.Errorf("got %v", err)
	}
}

func TestReadBadTime(t *testing.T) {
	err := Read(strings.NewReader("12,x:y\n"), timetable.New())
	if err == nil || err.Error() != `line 1: bad time "x:y"` {
		t.Errorf("got %v", err)
	}
}
