package turnstile

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// Entry is one line of the log of a day.
type Entry struct {
	Hour int
	Card string
}

// ParseLog reads lines of "HH card".
func ParseLog(text string) ([]Entry, error) {
	var entries []Entry
	for i, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		var e Entry
		if _, err := fmt.Sscanf(line, "%d %s", &e.Hour, &e.Card); err != nil {
			return nil, fmt.Errorf("line %d: %q", i+1, line)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Report writes visitors per hour.
func Report(w io.Writer, entries []Entry) error {
	perHour := map[int]int{}
	cards := map[string]bool{}
	for _, e := range entries {
		perHour[e.Hour]++
		cards[e.Card] = true
	}
	hours := make([]int, 0, len(perHour))
	for hour := range perHour {
		hours = append(hours, hour)
	}
	sort.Ints(hours)
	for _, hour := range hours {
		if _, err := fmt.Fprintf(w, "%02d:00 %4d %s\n", hour, perHour[hour], strings.Repeat("*", perHour[hour])); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d visits, %d cards\n", len(entries), len(cards))
	return err
}
