package markdown_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/outline/markdown"
)

func TestHeadings(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []markdown.Heading
	}{
		{"none", "just text\n", nil},
		{"one", "# Title\n", []markdown.Heading{{Level: 1, Text: "Title", Line: 1}}},
		{
			name: "levels",
			text: "# A\n\n## B\n\ntext\n\n### C\n",
			want: []markdown.Heading{{1, "A", 1}, {2, "B", 3}, {3, "C", 7}},
		},
		{"fence", "```\n# not this\n```\n# this\n", []markdown.Heading{{1, "this", 4}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := markdown.Headings(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHeadingsPassErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	if _, err := markdown.Headings(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestAnchor(t *testing.T) {
	tests := map[string]string{
		"Title":       "title",
		"Two Words":   "two-words",
		"How To Test": "how-to-test",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if got := markdown.Anchor(text); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
