// Package testutil has what several tests share.
package testutil

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Clock is turned by hand.
type Clock struct{ T time.Time }

func NewClock() *Clock { return &Clock{T: time.Date(2024, 5, 6, 8, 0, 0, 0, time.UTC)} }

func (c *Clock) Now() time.Time          { return c.T }
func (c *Clock) Advance(d time.Duration) { c.T = c.T.Add(d) }

// Golden compares got with testdata/name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

// Equal fails the test if got is not want.
func Equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
