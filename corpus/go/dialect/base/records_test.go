package dialect

import (
	"errors"
	"reflect"
	"testing"
)

var comma = Dialect{Delimiter: ',', Quote: '"'}

func TestParse(t *testing.T) {
	got, err := Parse("a,b\nc,\n", comma)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a", "b"}, {"c", ""}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseQuoted(t *testing.T) {
	got, err := Parse("\"a, b\",\"say \"\"hi\"\"\"\n\"two\nlines\",x\n", comma)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a, b", `say "hi"`}, {"two\nlines", "x"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseCRLF(t *testing.T) {
	got, err := Parse("a,b\r\nc,d\r\n", comma)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a", "b"}, {"c", "d"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseWithoutLastNewline(t *testing.T) {
	got, err := Parse("a,b\nc,d", comma)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a", "b"}, {"c", "d"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseUnclosedQuote(t *testing.T) {
	_, err := Parse("a,b\n\"c,d\ne,f\n", comma)
	var parseErr *ParseError
	if !errors.As(err, &parseErr) {
		t.Fatalf("got %v, want a ParseError", err)
	}
	if want := "dialect: line 4: quote is not closed"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestFormat(t *testing.T) {
	got := Format([][]string{{"a, b", "c"}, {"d", ""}}, comma)
	if want := "\"a, b\",c\nd,\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
