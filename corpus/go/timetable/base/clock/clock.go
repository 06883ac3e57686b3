// Package clock has times of a day.
package clock

import (
	"fmt"
	"strconv"
	"strings"
)

// Day is the number of minutes of a day.
const Day = 24 * 60

// Time is a time of a day, in minutes since midnight.
type Time int

// Parse reads a time such as 07:30.
func Parse(text string) (Time, error) {
	parts := strings.Split(text, ":")
	hours, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, fmt.Errorf("bad time %q", text)
	}
	minutes, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("bad time %q", text)
	}
	return Time(hours*60 + minutes), nil
}

// MustParse is Parse for times that are known to be good.
func MustParse(text string) Time {
	t, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return t
}

// Add gives the time so many minutes later, on whatever day that is.
func (t Time) Add(minutes int) Time {
	return Time((int(t) + minutes) % Day)
}

func (t Time) String() string {
	return fmt.Sprintf("%02d:%d", int(t)/60, int(t)%60)
}
