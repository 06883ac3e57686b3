package cronspec

import (
	"errors"
	"testing"
)

func TestParseValid(t *testing.T) {
	for _, expression := range []string{
		"* * * * *",
		"0 0 1 1 0",
		"59 23 31 12 7",
		"*/10 8-18/2 1,15 * mon-fri",
		"0 12 * JAN,Jul sun",
		"  5   4  *  *  *  ",
		"@daily",
		"@Yearly",
	} {
		if _, err := Parse(expression); err != nil {
			t.Errorf("Parse(%q): %v", expression, err)
		}
	}
}

func TestParseInvalid(t *testing.T) {
	tests := []struct {
		expression string
		field      string
		text       string
	}{
		{"", "expression", ""},
		{"* * * *", "expression", "* * * *"},
		{"* * * * * *", "expression", "* * * * * *"},
		{"60 * * * *", "minute", "60"},
		{"* 24 * * *", "hour", "24"},
		{"* * 0 * *", "day", "0"},
		{"* * * 13 *", "month", "13"},
		{"* * * * 8", "weekday", "8"},
		{"*/0 * * * *", "minute", "*/0"},
		{"5-1 * * * *", "minute", "5-1"},
		{"1,,2 * * * *", "minute", "1,,2"},
		{"* * * feb-jan *", "month", "feb-jan"},
		{"@often", "macro", "@often"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.expression)
		var wrong *ParseError
		if !errors.As(err, &wrong) {
			t.Errorf("Parse(%q): error %v", tt.expression, err)
			continue
		}
		if wrong.Field != tt.field || wrong.Text != tt.text {
			t.Errorf("Parse(%q): field %q, text %q", tt.expression, wrong.Field, wrong.Text)
		}
	}
}

func TestParseErrorMessage(t *testing.T) {
	_, err := Parse("* 24 * * *")
	if err == nil || err.Error() != `cronspec: invalid hour "24"` {
		t.Fatalf("error %v", err)
	}
}

func TestSundayIsZeroAndSeven(t *testing.T) {
	zero, seven := MustParse("0 0 * * 0"), MustParse("0 0 * * 7")
	if !zero.weekday.has(0) || !seven.weekday.has(0) {
		t.Errorf("Sunday: %b and %b", zero.weekday, seven.weekday)
	}
}

func TestStepWithoutRange(t *testing.T) {
	if got, want := MustParse("50/5 * * * *").minutes, set(1<<50|1<<55); got != want {
		t.Errorf("minutes %b, want %b", got, want)
	}
}

func TestStringExpandsMacros(t *testing.T) {
	if got := MustParse("@weekly").String(); got != "0 0 * * 0" {
		t.Errorf("String: %q", got)
	}
	if got := MustParse(" 5  4 * * * ").String(); got != "5 4 * * *" {
		t.Errorf("String: %q", got)
	}
}

func TestMustParsePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustParse("never")
}
