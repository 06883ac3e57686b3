package price

import "testing"

func TestString(t *testing.T) {
	tests := []struct {
		cents Cents
		want  string
	}{
		{0, "0.00"},
		{5, "0.05"},
		{1250, "12.50"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := tt.cents.String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDiscount(t *testing.T) {
	if got := Discount(1000, 25); got != 750 {
		t.Errorf("got %d, want 750", got)
	}
}

func TestSum(t *testing.T) {
	if got := Sum(1, 2, 3); got != 6 {
		t.Errorf("got %d, want 6", got)
	}
	if got := Sum(); got != 0 {
		t.Errorf("nothing adds up to %d", got)
	}
}

func TestAverage(t *testing.T) {
	if got := Average([]Cents{100, 201}); got != 150 {
		t.Errorf("got %d, want 150", got)
	}
}

func TestMax(t *testing.T) {
	if got := Max([]Cents{3, 9, 4}); got != 9 {
		t.Errorf("got %d, want 9", got)
	}
}
