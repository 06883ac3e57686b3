// Package turnstile is a gate for visitors.
package turnstile

import (
	"errors"
	"fmt"
)

// State of a gate.
type State int

const (
	Locked State = iota
	Unlocked
	OutOfOrder
)

var stateNames = [...]string{"locked", "unlocked", "out of order"}

func (s State) String() string {
	if s < 0 || int(s) > len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// ErrState is wrapped by errors of events that the state does not allow.
var ErrState = errors.New("not in this state")

// Gate lets one visitor through per card.
type Gate struct {
	state   State
	Entered int
}

func (g *Gate) State() State { return g.state }

// Card unlocks a locked gate.
func (g *Gate) Card() error {
	if g.state != Locked {
		return fmt.Errorf("card at a gate that is %v: %w", g.state, ErrState)
	}
	g.state = Unlocked
	return nil
}

// Push lets a visitor through an unlocked gate.
func (g *Gate) Push() error {
	if g.state != Unlocked {
		return fmt.Errorf("push at a gate that is %v: %w", g.state, ErrState)
	}
	g.state = Locked
	g.Entered++
	return nil
}

// Break takes the gate out of order; Repair locks it.
func (g *Gate) Break()  { g.state = OutOfOrder }
func (g *Gate) Repair() { g.state = Locked }
