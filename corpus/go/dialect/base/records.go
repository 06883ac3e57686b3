package dialect

import (
	"fmt"
	"strings"
)

// ParseError is about a text that does not follow its dialect.
type ParseError struct {
	Line int
	Msg  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("dialect: line %d: %s", e.Line, e.Msg)
}

// Parse splits a text into records.
func Parse(text string, d Dialect) ([][]string, error) {
	var records [][]string
	var record []string
	var field strings.Builder
	line := 1
	quoted, start := false, true
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		if c == '\n' {
			line++
		}
		switch {
		case quoted:
			if c != d.Quote {
				field.WriteRune(c)
			} else if i+1 < len(runes) && runes[i+1] == d.Quote {
				field.WriteRune(c)
				i++
			} else {
				quoted = false
			}
		case start && c == d.Quote && d.Quote != 0:
			quoted, start = true, false
		case c == d.Delimiter:
			record = append(record, field.String())
			field.Reset()
			start = true
		case c == '\r' && i+1 < len(runes) && runes[i+1] == '\n':
			// The newline follows.
		case c == '\n':
			records = append(records, append(record, field.String()))
			record = nil
			field.Reset()
			start = true
		default:
			field.WriteRune(c)
			start = false
		}
	}
	if quoted {
		return nil, &ParseError{Line: line, Msg: "quote is not closed"}
	}
	if !start || len(record) > 0 {
		records = append(records, append(record, field.String()))
	}
	return records, nil
}

// Format writes records as text.
func Format(records [][]string, d Dialect) string {
	var out strings.Builder
	for _, record := range records {
		for i, field := range record {
			if i > 0 {
				out.WriteRune(d.Delimiter)
			}
			out.WriteString(quoteField(field, d))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func quoteField(field string, d Dialect) string {
	if d.Quote == 0 || !strings.ContainsRune(field, d.Delimiter) {
		return field
	}
	quote := string(d.Quote)
	return quote + field + quote
}
