package cronspec

import "time"

// horizon is how many years Next looks ahead.
const horizon = 5

// Next returns the first time after the given one at which the schedule is due,
// or the zero time if there is none within five years.
func (s *Schedule) Next(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	limit := after.AddDate(horizon, 0, 0)
	for !t.After(limit) {
		switch {
		case !s.months.has(int(t.Month())):
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, t.Location())
		case !s.dueOn(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
		case !s.hours.has(t.Hour()):
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case !s.minutes.has(t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// Upcoming returns the next n times.
func (s *Schedule) Upcoming(after time.Time, n int) []time.Time {
	times := make([]time.Time, 0, n)
	for len(times) < n {
		after = s.Next(after)
		if after.IsZero() {
			break
		}
		times = append(times, after)
	}
	return times
}

// Due tells whether the schedule is due in the minute of the given time.
func (s *Schedule) Due(t time.Time) bool {
	return s.months.has(int(t.Month())) && s.dueOn(t) && s.hours.has(t.Hour()) && s.minutes.has(t.Minute())
}

func (s *Schedule) dueOn(t time.Time) bool {
	day := s.days.has(t.Day())
	weekday := s.weekday.has(int(t.Weekday()))
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
