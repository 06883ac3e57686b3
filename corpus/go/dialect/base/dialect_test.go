package dialect

import (
	"errors"
	"testing"
)

func TestSniffDelimiter(t *testing.T) {
	tests := []struct {
		name   string
		sample string
		want   rune
	}{
		{"comma", "a,b\nc,d\n", ','},
		{"semicolon", "a;b\nc;d\n", ';'},
		{"tab", "a\tb\nc\td\n", '\t'},
		{"pipe", "a|b|c\nd|e|f\n", '|'},
		{"most frequent", "a,b;c;d\ne,f;g;h\n", ';'},
		{"one column", "a\nb\n", ','},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Sniff(tt.sample)
			if err != nil {
				t.Fatal(err)
			}
			if d.Delimiter != tt.want {
				t.Errorf("Delimiter = %q, want %q", d.Delimiter, tt.want)
			}
		})
	}
}

func TestSniffQuote(t *testing.T) {
	for sample, want := range map[string]rune{
		"\"a\",b\nc,d\n": '"',
		"a;'b'\nc;d\n":   '\'',
		"a,b\nc,d\n":     0,
	} {
		d, err := Sniff(sample)
		if err != nil {
			t.Fatal(err)
		}
		if d.Quote != want {
			t.Errorf("Sniff(%q).Quote = %q, want %q", sample, d.Quote, want)
		}
	}
}

func TestSniffHeader(t *testing.T) {
	for sample, want := range map[string]bool{
		"name,age\nann,30\n":    true,
		"ann,30\nbob,40\n":      false,
		"name,town\nann,york\n": false,
		"name,age\n":            false,
	} {
		d, err := Sniff(sample)
		if err != nil {
			t.Fatal(err)
		}
		if d.Header != want {
			t.Errorf("Sniff(%q).Header = %v, want %v", sample, d.Header, want)
		}
	}
}

func TestSniffCRLF(t *testing.T) {
	d, err := Sniff("name;age\r\nann;30\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Dialect{Delimiter: ';', Header: true}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
}

func TestSniffEmpty(t *testing.T) {
	for _, sample := range []string{"", "\n\r\n"} {
		if _, err := Sniff(sample); !errors.Is(err, ErrEmpty) {
			t.Errorf("Sniff(%q): %v, want ErrEmpty", sample, err)
		}
	}
}
