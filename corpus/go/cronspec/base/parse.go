// Package cronspec parses cron expressions and tells when they are due.
package cronspec

import (
	"fmt"
	"strconv"
	"strings"
)

// Schedule is a parsed expression.
type Schedule struct {
	source  string
	minutes set
	hours   set
	days    set
	months  set
	weekday set
	// anyDay and anyWeekday are true if the field is `*`.
	anyDay, anyWeekday bool
}

// set has bit n set if n is in it.
type set uint64

func (s set) has(n int) bool { return s&(1<<uint(n)) != 0 }

type field struct {
	name     string
	min, max int
	names    []string
}

var fields = []field{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "weekday", min: 0, max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var macros = map[string]string{
	"@hourly":  "0 * * * *",
	"@daily":   "0 0 * * *",
	"@weekly":  "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *",
}

// ParseError says which field of an expression is wrong.
type ParseError struct {
	Field string
	Text  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("cronspec: invalid %s %q", e.Field, e.Text)
}

// Parse reads an expression of five fields or a macro.
func Parse(expression string) (*Schedule, error) {
	source := strings.TrimSpace(expression)
	if strings.HasPrefix(source, "@") {
		expanded, ok := macros[strings.ToLower(source)]
		if !ok {
			return nil, &ParseError{"macro", source}
		}
		source = expanded
	}
	parts := strings.Fields(source)
	if len(parts) != len(fields) {
		return nil, &ParseError{"expression", expression}
	}
	sets := make([]set, len(fields))
	for i, part := range parts {
		parsed, ok := fields[i].parse(part)
		if !ok {
			return nil, &ParseError{fields[i].name, part}
		}
		sets[i] = parsed
	}
	weekday := sets[4]
	if weekday.has(7) {
		weekday |= 1
	}
	return &Schedule{
		source:     strings.Join(parts, " "),
		minutes:    sets[0],
		hours:      sets[1],
		days:       sets[2],
		months:     sets[3],
		weekday:    weekday,
		anyDay:     parts[2] == "*",
		anyWeekday: parts[4] == "*",
	}, nil
}

// MustParse is like Parse and panics if the expression is wrong.
func MustParse(expression string) *Schedule {
	schedule, err := Parse(expression)
	if err != nil {
		panic(err)
	}
	return schedule
}

// String returns the expression with macros expanded.
func (s *Schedule) String() string { return s.source }

func (f field) parse(text string) (set, bool) {
	var result set
	for _, item := range strings.Split(text, ",") {
		body, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return 0, false
			}
			step = n
		}
		low, high, ok := f.bounds(body, stepped)
		if !ok {
			return 0, false
		}
		for n := low; n <= high; n += step {
			result |= 1 << uint(n)
		}
	}
	return result, true
}

func (f field) bounds(body string, stepped bool) (low, high int, ok bool) {
	if body == "*" {
		return f.min, f.max, true
	}
	first, last, ranged := strings.Cut(body, "-")
	low, ok = f.number(first)
	if !ok {
		return 0, 0, false
	}
	high = low
	if ranged {
		high, ok = f.number(last)
	} else if stepped {
		high = f.max
	}
	return low, high, ok && low <= high
}

func (f field) number(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return i + f.min, true
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, false
	}
	return n, true
}
