package sku

import "testing"

func TestParse(t *testing.T) {
	got, err := Parse("TEA-100")
	if err != nil {
		t.Fatal(err)
	}
	want := SKU{Group: "TEA", Number: 100}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseUpper(t *testing.T) {
	got, err := Parse("tea-7")
	if err != nil {
		t.Fatal(err)
	}
	if got.Group != "TEA" {
		t.Errorf("group is %q", got.Group)
	}
}

func TestParseBadNumber(t *testing.T) {
	if _, err := Parse("TEA-x"); err == nil {
		t.Error("no error for TEA-x")
	}
}

func TestNext(t *testing.T) {
	if got := (SKU{"TEA", 9}).Next().String(); got != "TEA-10" {
		t.Errorf("got %s", got)
	}
}
