package turnstile

import (
	"errors"
	"testing"

	"example.org/turnstile/internal/testutil"
)

func TestGate(t *testing.T) {
	tests := []struct {
		name   string
		events string // c: card, p: push, b: break, r: repair
		fails  bool   // the last one
		state  State
	}{
		{"new", "", false, Locked},
		{"card unlocks", "c", false, Unlocked},
		{"push locks", "cp", false, Locked},
		{"push without card", "p", true, Locked},
		{"second card", "cc", true, Unlocked},
		{"broken", "b", false, OutOfOrder},
		{"card at a broken gate", "bc", true, OutOfOrder},
		{"repaired", "br", false, Locked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g Gate
			var err error
			for _, event := range tt.events {
				switch event {
				case 'c':
					err = g.Card()
				case 'p':
					err = g.Push()
				case 'b':
					g.Break()
				case 'r':
					g.Repair()
				}
			}
			if tt.fails != errors.Is(err, ErrState) {
				t.Errorf("error %v, want one: %v", err, tt.fails)
			}
			testutil.Equal(t, "state", g.State(), tt.state)
		})
	}
}

func TestEntered(t *testing.T) {
	var g Gate
	for i := 0; i < 3; i++ {
		if err := g.Card(); err != nil {
			t.Fatal(err)
		}
		if err := g.Push(); err != nil {
			t.Fatal(err)
		}
		_ = g.Push()
	}
	testutil.Equal(t, "entered", g.Entered, 3)
}

func TestStateString(t *testing.T) {
	testutil.Equal(t, "locked", Locked.String(), "locked")
	testutil.Equal(t, "out of order", OutOfOrder.String(), "out of order")
	testutil.Equal(t, "unknown", State(-1).String(), "State(-1)")
}
