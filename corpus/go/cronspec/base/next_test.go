package cronspec

import (
	"testing"
	"time"
)

const layout = "2006-01-02 15:04:05"

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.ParseInLocation(layout, text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestNext(t *testing.T) {
	tests := []struct {
		name, expression, after, want string
	}{
		{"next minute", "* * * * *", "2024-03-01 10:00:00", "2024-03-01 10:01:00"},
		{"seconds are dropped", "* * * * *", "2024-03-01 10:00:59", "2024-03-01 10:01:00"},
		{"later today", "30 9 * * *", "2024-03-01 09:29:30", "2024-03-01 09:30:00"},
		{"never the given time", "30 9 * * *", "2024-03-01 09:30:00", "2024-03-02 09:30:00"},
		{"end of the month", "0 0 31 * *", "2024-03-31 00:00:00", "2024-05-31 00:00:00"},
		{"leap day", "0 0 29 2 *", "2024-03-01 00:00:00", "2028-02-29 00:00:00"},
		{"end of the year", "0 0 1 jan *", "2024-06-15 12:00:00", "2025-01-01 00:00:00"},
		{"weekdays", "0 8 * * mon-fri", "2024-03-01 08:00:00", "2024-03-04 08:00:00"},
		{"day or weekday", "0 0 13 * fri", "2024-03-08 00:00:00", "2024-03-13 00:00:00"},
		{"steps", "*/20 8-10 * * *", "2024-03-01 08:41:00", "2024-03-01 09:00:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := MustParse(tt.expression).Next(at(t, tt.after))
			if got.Format(layout) != tt.want {
				t.Errorf("Next(%s) = %s, want %s", tt.after, got.Format(layout), tt.want)
			}
		})
	}
}

func TestNextOfTheImpossible(t *testing.T) {
	if got := MustParse("0 0 30 2 *").Next(at(t, "2024-01-01 00:00:00")); !got.IsZero() {
		t.Errorf("Next = %s, want the zero time", got)
	}
}

func TestNextKeepsTheLocation(t *testing.T) {
	zone := time.FixedZone("X", 2*60*60)
	got := MustParse("0 6 * * *").Next(time.Date(2024, 3, 1, 12, 0, 0, 0, zone))
	if want := time.Date(2024, 3, 2, 6, 0, 0, 0, zone); !got.Equal(want) || got.Location() != zone {
		t.Errorf("Next = %s, want %s", got, want)
	}
}

func TestUpcoming(t *testing.T) {
	times := MustParse("0 */12 * * *").Upcoming(at(t, "2024-03-01 01:00:00"), 3)
	want := []string{"2024-03-01 12:00:00", "2024-03-02 00:00:00", "2024-03-02 12:00:00"}
	if len(times) != len(want) {
		t.Fatalf("%d times, want %d", len(times), len(want))
	}
	for i, got := range times {
		if got.Format(layout) != want[i] {
			t.Errorf("time %d: %s, want %s", i, got.Format(layout), want[i])
		}
	}
}

func TestUpcomingOfTheImpossible(t *testing.T) {
	if times := MustParse("0 0 31 feb *").Upcoming(at(t, "2024-01-01 00:00:00"), 3); len(times) != 0 {
		t.Errorf("times %v", times)
	}
}

func TestDue(t *testing.T) {
	schedule := MustParse("30 9 * * mon-fri")
	if !schedule.Due(at(t, "2024-03-01 09:30:45")) {
		t.Error("not due on Friday")
	}
	if schedule.Due(at(t, "2024-03-02 09:30:00")) {
		t.Error("due on Saturday")
	}
}
