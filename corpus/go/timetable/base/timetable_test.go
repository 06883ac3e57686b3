package timetable

import (
	"reflect"
	"testing"

	"example.com/timetable/clock"
)

func sample() *Table {
	table := New()
	for _, at := range []string{"08:00", "07:30", "09:00"} {
		table.Add("12", clock.MustParse(at))
	}
	table.Add("7", clock.MustParse("10:15"))
	return table
}

func TestDeparturesAreSorted(t *testing.T) {
	want := []clock.Time{450, 480, 540}
	if got := sample().Departures("12"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLines(t *testing.T) {
	if got := sample().Lines(); !reflect.DeepEqual(got, []string{"12", "7"}) {
		t.Errorf("got %v", got)
	}
}

func TestNext(t *testing.T) {
	got, ok := sample().Next("12", clock.MustParse("07:45"))
	if !ok || got != clock.MustParse("08:00") {
		t.Errorf("got %v, %v", got, ok)
	}
}

func TestNextOfUnknownLine(t *testing.T) {
	if _, ok := sample().Next("99", 0); ok {
		t.Error("found a departure")
	}
}

func TestHeadway(t *testing.T) {
	if got := sample().Headway("12"); got != 45 {
		t.Errorf("got %d, want 45", got)
	}
}
