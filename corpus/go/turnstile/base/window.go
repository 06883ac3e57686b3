package turnstile

import "time"

// Window allows Limit events per key within Span.
type Window struct {
	Limit int
	Span  time.Duration
	Now   func() time.Time

	seen map[string][]time.Time
}

func NewWindow(limit int, span time.Duration) *Window {
	return &Window{Limit: limit, Span: span, Now: time.Now, seen: map[string][]time.Time{}}
}

// Allow counts an event of key, unless there were Limit of them already.
func (w *Window) Allow(key string) bool {
	now := w.Now()
	recent := w.seen[key][:0]
	for _, at := range w.seen[key] {
		if now.Sub(at) <= w.Span {
			recent = append(recent, at)
		}
	}
	if len(recent) >= w.Limit {
		w.seen[key] = recent
		return false
	}
	w.seen[key] = append(recent, now)
	return true
}

// Keys is the number of keys that are remembered.
func (w *Window) Keys() int { return len(w.seen) }
