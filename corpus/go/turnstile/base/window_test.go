package turnstile

import (
	"math/rand"
	"testing"
	"time"

	"example.org/turnstile/internal/testutil"
)

func newTestWindow(limit int) (*Window, *testutil.Clock) {
	clock := testutil.NewClock()
	w := NewWindow(limit, time.Minute)
	w.Now = clock.Now
	return w, clock
}

func TestWindowLimits(t *testing.T) {
	w, _ := newTestWindow(2)
	for i, want := range []bool{true, true, false, false} {
		if got := w.Allow("a"); got != want {
			t.Errorf("call %d: got %v", i, got)
		}
	}
	if !w.Allow("b") {
		t.Error("b is limited by a")
	}
}

func TestWindowSlides(t *testing.T) {
	w, clock := newTestWindow(2)
	w.Allow("a")
	clock.Advance(40 * time.Second)
	w.Allow("a")
	clock.Advance(19 * time.Second)
	if w.Allow("a") {
		t.Error("allowed after 59 s")
	}
	clock.Advance(2 * time.Second)
	if !w.Allow("a") {
		t.Error("refused after 61 s")
	}
	if w.Allow("a") {
		t.Error("the second event is forgotten too early")
	}
}

// Whatever the gaps, no minute has more than the limit.
func TestWindowNeverExceeds(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	w, clock := newTestWindow(5)
	var allowed []time.Time
	for i := 0; i < 2000; i++ {
		clock.Advance(time.Duration(rng.Intn(20_000)) * time.Millisecond)
		if w.Allow("a") {
			allowed = append(allowed, clock.Now())
		}
	}
	for i := 5; i < len(allowed); i++ {
		if gap := allowed[i].Sub(allowed[i-5]); gap <= time.Minute {
			t.Fatalf("six events within %v", gap)
		}
	}
	if len(allowed) < 1000 {
		t.Errorf("only %d were allowed", len(allowed))
	}
}
