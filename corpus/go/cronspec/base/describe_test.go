package cronspec

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestDescribeGolden(t *testing.T) {
	expressions := []string{
		"* * * * *",
		"30 9 * * *",
		"0 * * * *",
		"*/15 8-18 * * mon-fri",
		"* 12 * * *",
		"0 0 1,15 * *",
		"0 0 13 * fri",
		"0 6 * jun-aug sat,sun",
		"@yearly",
	}
	var lines []string
	for _, expression := range expressions {
		lines = append(lines, expression+" = "+MustParse(expression).Describe())
	}
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", "describe.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("descriptions differ:\n%s\nwant:\n%s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		numbers []int
		want    string
	}{
		{nil, ""},
		{[]int{4}, "4"},
		{[]int{4, 5}, "4 and 5"},
		{[]int{1, 2, 3}, "1 to 3"},
		{[]int{0, 2, 3, 4, 9}, "0, 2 to 4 and 9"},
	}
	for _, tt := range tests {
		var s set
		for _, n := range tt.numbers {
			s |= 1 << uint(n)
		}
		if got := numbers(s, 0, 9, fmt.Sprint); got != tt.want {
			t.Errorf("numbers(%v) = %q, want %q", tt.numbers, got, tt.want)
		}
	}
}
