// Package stock keeps track of what is in a warehouse.
package stock

import (
	"errors"
	"sort"

	"example.com/stock/price"
)

// ErrTooFew says that there is less than was asked for.
var ErrTooFew = errors.New("too few in stock")

// Inventory is what there is.
type Inventory struct {
	counts map[string]int
	prices map[string]price.Cents
}

// New is an empty inventory.
func New() *Inventory {
	return &Inventory{counts: map[string]int{}}
}

// Add puts some into the inventory.
func (inv *Inventory) Add(name string, count int) {
	inv.counts[name] += count
}

// Take takes some out.
func (inv *Inventory) Take(name string, count int) error {
	if inv.counts[name] < count {
		return ErrTooFew
	}
	inv.counts[name] -= count
	return nil
}

// Count is how many there are.
func (inv *Inventory) Count(name string) int {
	return inv.counts[name]
}

// SetPrice says what one of them costs.
func (inv *Inventory) SetPrice(name string, cents price.Cents) {
	inv.prices[name] = cents
}

// Low lists the articles of which there are at most so many, by name.
func (inv *Inventory) Low(limit int) []string {
	var names []string
	for name, count := range inv.counts {
		if count < limit {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// Merge adds all of another inventory.
func (inv *Inventory) Merge(other *Inventory) {
	for name, count := range other.counts {
		inv.counts[name] = count
	}
}
