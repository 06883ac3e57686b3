package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"example.com/outline/markdown"
)

var update = flag.Bool("update", false, "write the golden files")

func headings(t *testing.T, name string) []markdown.Heading {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := markdown.Headings(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestWrite(t *testing.T) {
	tests := []struct {
		name    string
		options Options
	}{
		{"plain", Options{}},
		{"links", Options{Link: true}},
		{"two-levels", Options{Max: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, headings(t, "guide.md"), tt.options); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.Bytes())
		})
	}
}

func TestWriteNothing(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}
