// Package feed reads departures from text.
package feed

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"example.com/timetable"
	"example.com/timetable/clock"
)

// Read adds the departures of lines such as "12,07:30" to a table.
func Read(r io.Reader, table *timetable.Table) error {
	scanner := bufio.NewScanner(r)
	for number := 1; scanner.Scan(); number++ {
		line, at, found := strings.Cut(scanner.Text(), ",")
		if !found {
			return fmt.Errorf("line %d: no comma", number)
		}
		departure, err := clock.Parse(at)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		table.Add(line, departure)
	}
	return nil
}
