// Package dialect finds out how a file of separated values was written.
package dialect

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Candidates for the delimiter, the most likely first.
const candidates = ",;\t|"

// ErrEmpty is returned for a sample without any text.
var ErrEmpty = errors.New("dialect: empty sample")

// Dialect says how a file of separated values was written.
type Dialect struct {
	Delimiter rune
	Quote     rune // 0 for none
	Header    bool
}

func (d Dialect) String() string {
	quote := "no quotes"
	if d.Quote != 0 {
		quote = fmt.Sprintf("quote %q", d.Quote)
	}
	return fmt.Sprintf("delimiter %q, %s", d.Delimiter, quote)
}

// Sniff guesses the dialect of a sample, which should end with a whole line.
func Sniff(sample string) (Dialect, error) {
	lines := splitLines(sample)
	if len(lines) == 0 {
		return Dialect{}, ErrEmpty
	}
	d := Dialect{Delimiter: findDelimiter(lines)}
	d.Quote = findQuote(lines, d.Delimiter)
	rows, err := Parse(strings.Join(lines, "\n"), d)
	if err != nil {
		return Dialect{}, err
	}
	d.Header = hasHeader(rows)
	return d, nil
}

// splitLines leaves out empty lines.
func splitLines(text string) []string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func findDelimiter(lines []string) rune {
	best, bestCount := ',', 0
	for _, c := range candidates {
		if count := commonCount(lines, c); count > bestCount {
			best, bestCount = c, count
		}
	}
	return best
}

// commonCount is how often the delimiter is in each line, or 0 if the lines differ.
func commonCount(lines []string, delimiter rune) int {
	count := strings.Count(lines[0], string(delimiter))
	for _, line := range lines[1:] {
		if strings.Count(line, string(delimiter)) != count {
			return 0
		}
	}
	return count
}

func findQuote(lines []string, delimiter rune) rune {
	for _, quote := range `"'` {
		for _, line := range lines {
			for _, field := range strings.Split(line, string(delimiter)) {
				if strings.HasPrefix(field, string(quote)) {
					return quote
				}
			}
		}
	}
	return 0
}

func hasHeader(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	for _, title := range rows[0] {
		if isNumber(title) {
			return false
		}
	}
	for column := range rows[0] {
		if isNumber(rows[1][column]) {
			return true
		}
	}
	return false
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil
}
