// Package price computes with whole cents.
package price

import "fmt"

// Cents is an amount of money.
type Cents int64

// String writes 1250 as `12.50`.
func (c Cents) String() string {
	return fmt.Sprintf("%d.%02d", c/100, c%100)
}

// Discount takes so many percent off, rounded to whole cents.
func Discount(c Cents, percent int) Cents {
	return c - c*Cents(percent)/100
}

// Sum adds up.
func Sum(all ...Cents) Cents {
	var sum Cents
	for _, c := range all {
		sum += c
	}
	return sum
}

// Average is the mean, rounded down.
func Average(all []Cents) Cents {
	return Sum(all...) / Cents(len(all))
}

// Max is the highest of some prices.
func Max(all []Cents) Cents {
	var max Cents
	for _, c := range all {
		if c > max {
			max = c
		}
	}
	return max
}
