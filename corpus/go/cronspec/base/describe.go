package cronspec

import (
	"fmt"
	"strings"
	"time"
)

// Describe says the schedule in English.
func (s *Schedule) Describe() string {
	parts := []string{s.describeTime()}
	if !s.anyDay {
		parts = append(parts, "on day "+numbers(s.days, 1, 31, fmt.Sprint))
	}
	if !s.anyWeekday {
		word := "on "
		if !s.anyDay {
			word = "or on "
		}
		parts = append(parts, word+numbers(s.weekday, 0, 6, func(v ...any) string {
			return time.Weekday(v[0].(int)).String()
		}))
	}
	if s.months != fullMonths {
		parts = append(parts, "in "+numbers(s.months, 1, 12, func(v ...any) string {
			return time.Month(v[0].(int)).String()
		}))
	}
	return strings.Join(parts, ", ")
}

const (
	fullMonths  set = 1<<13 - 2
	fullHours   set = 1<<24 - 1
	fullMinutes set = 1<<60 - 1
)

func (s *Schedule) describeTime() string {
	minute, oneMinute := s.minutes.only(59)
	hour, oneHour := s.hours.only(23)
	switch {
	case oneMinute && oneHour:
		return fmt.Sprintf("at %02d:%02d", hour, minute)
	case s.minutes == fullMinutes && s.hours == fullHours:
		return "every minute"
	case s.minutes == fullMinutes:
		return "every minute of hour " + numbers(s.hours, 0, 23, fmt.Sprint)
	case s.hours == fullHours:
		return "at minute " + numbers(s.minutes, 0, 59, fmt.Sprint) + " of every hour"
	}
	return "at minute " + numbers(s.minutes, 0, 59, fmt.Sprint) + " of hour " + numbers(s.hours, 0, 23, fmt.Sprint)
}

// only returns the number of a set of one.
func (s set) only(max int) (int, bool) {
	found, count := 0, 0
	for n := 0; n <= max; n++ {
		if s.has(n) {
			found = n
			count++
		}
	}
	return found, count == 1
}

// numbers lists a set. Three or more in a row become a range.
func numbers(s set, min, max int, name func(...any) string) string {
	var items []string
	for n := min; n <= max; n++ {
		if !s.has(n) {
			continue
		}
		end := n
		for end < max && s.has(end+1) {
			end++
		}
		switch {
		case end-n >= 2:
			items = append(items, name(n)+" to "+name(end))
			n = end
		default:
			items = append(items, name(n))
		}
	}
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}
