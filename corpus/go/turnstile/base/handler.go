package turnstile

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Handler serves POST /card?id=… and POST /push.
func Handler(gate *Gate, window *Window) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/card", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answer(w, http.StatusMethodNotAllowed, gate, errors.New("use POST"))
			return
		}
		id := r.URL.Query().Get("id")
		if !window.Allow(id) {
			answer(w, http.StatusTooManyRequests, gate, errors.New("too often"))
			return
		}
		if err := gate.Card(); err != nil {
			answer(w, http.StatusConflict, gate, err)
			return
		}
		answer(w, http.StatusOK, gate, nil)
	})
	mux.HandleFunc("/push", func(w http.ResponseWriter, r *http.Request) {
		if err := gate.Push(); err != nil {
			answer(w, http.StatusConflict, gate, err)
			return
		}
		answer(w, http.StatusOK, gate, nil)
	})
	return mux
}

func answer(w http.ResponseWriter, status int, gate *Gate, err error) {
	body := map[string]interface{}{"state": gate.State().String(), "entered": gate.Entered}
	if err != nil {
		body["error"] = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
