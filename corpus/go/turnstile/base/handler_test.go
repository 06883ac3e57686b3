package turnstile

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.org/turnstile/internal/testutil"
)

type reply struct {
	State   string `json:"state"`
	Entered int    `json:"entered"`
	Error   string `json:"error"`
}

func send(t *testing.T, h http.Handler, method, target string) (int, reply) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, target, nil))
	var body reply
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return rec.Code, body
}

func TestHandler(t *testing.T) {
	w, _ := newTestWindow(2)
	h := Handler(&Gate{}, w)
	steps := []struct {
		method, target string
		status         int
		body           reply
	}{
		{"POST", "/push", 409, reply{"locked", 0, "push at a gate that is locked: not in this state"}},
		{"GET", "/card?id=a", 405, reply{"locked", 0, "use POST"}},
		{"POST", "/card?id=a", 200, reply{"unlocked", 0, ""}},
		{"POST", "/push", 200, reply{"locked", 1, ""}},
		{"POST", "/card?id=a", 200, reply{"unlocked", 1, ""}},
		{"POST", "/push", 200, reply{"locked", 2, ""}},
		{"POST", "/card?id=a", 429, reply{"locked", 2, "too often"}},
		{"POST", "/card?id=b", 200, reply{"unlocked", 2, ""}},
		{"POST", "/card?id=c", 409, reply{"unlocked", 2, "card at a gate that is unlocked: not in this state"}},
	}
	for _, s := range steps {
		status, body := send(t, h, s.method, s.target)
		testutil.Equal(t, s.method+" "+s.target, status, s.status)
		testutil.Equal(t, s.method+" "+s.target, body, s.body)
	}
}
