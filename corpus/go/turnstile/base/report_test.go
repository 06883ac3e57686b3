package turnstile

import (
	"os"
	"strings"
	"testing"

	"example.org/turnstile/internal/testutil"
)

func TestReport(t *testing.T) {
	text, err := os.ReadFile("testdata/day.log")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := ParseLog(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Report(&out, entries); err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "day.txt", out.String())
}

func TestParseLogErrors(t *testing.T) {
	for _, text := range []string{"x ann", "08", "08 ann\n\nnine bob"} {
		if _, err := ParseLog(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	_, err := ParseLog("08 ann\n\nnine bob")
	testutil.Equal(t, "message", err.Error(), `line 3: "nine bob"`)
}
