package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name string
		args []string
		in   string
		out  string
		code int
	}{
		{"plain", nil, "# A\n## B\n", "- A\n  - B\n", 0},
		{"max", []string{"-max", "1"}, "# A\n## B\n", "- A\n", 0},
		{"link", []string{"-link"}, "# A b\n", "- [A b](#a-b)\n", 0},
		{"bad flag", []string{"-deep"}, "", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(tt.args, strings.NewReader(tt.in), &out, &errOut)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, errOut.String())
			}
			if got := out.String(); got != tt.out {
				t.Errorf("got %q, want %q", got, tt.out)
			}
		})
	}
}
