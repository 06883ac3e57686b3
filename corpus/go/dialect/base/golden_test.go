package dialect

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestSummary sniffs all files of testdata.
func TestSummary(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, path := range paths {
		sample, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Sniff(string(sample))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		fmt.Fprintf(&got, "%s: %v\n", filepath.Base(path), d)
	}
	golden := filepath.Join("testdata", "summary.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}
