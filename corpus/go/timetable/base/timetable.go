// Package timetable knows when buses leave.
package timetable

import (
	"sort"

	"example.com/timetable/clock"
)

// Table has the departures of each line.
type Table struct {
	departures map[string][]clock.Time
}

// New gives an empty table.
func New() *Table {
	return &Table{departures: map[string][]clock.Time{}}
}

// Add adds a departure of a line.
func (t *Table) Add(line string, at clock.Time) {
	t.departures[line] = append(t.departures[line], at)
}

// Departures gives the departures of a line, the earliest first.
func (t *Table) Departures(line string) []clock.Time {
	list := append([]clock.Time(nil), t.departures[line]...)
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	return list
}

// Lines gives the names of all lines, sorted.
func (t *Table) Lines() []string {
	var names []string
	for name := range t.departures {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Next gives the first departure of a line that can still be reached: one that leaves right now can.
func (t *Table) Next(line string, now clock.Time) (clock.Time, bool) {
	for _, at := range t.Departures(line) {
		if at > now {
			return at, true
		}
	}
	return 0, false
}

// Headway gives the mean number of minutes between two departures of a line.
func (t *Table) Headway(line string) int {
	list := t.Departures(line)
	return int(list[len(list)-1]-list[0]) / (len(list) - 1)
}
