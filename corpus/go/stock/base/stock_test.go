package stock

import (
	"errors"
	"reflect"
	"testing"
)

func filled() *Inventory {
	inv := New()
	inv.Add("tea", 12)
	inv.Add("milk", 2)
	inv.Add("salt", 0)
	return inv
}

func TestAdd(t *testing.T) {
	inv := filled()
	inv.Add("tea", 3)
	if got := inv.Count("tea"); got != 15 {
		t.Errorf("got %d, want 15", got)
	}
}

func TestTake(t *testing.T) {
	inv := filled()
	if err := inv.Take("tea", 5); err != nil {
		t.Fatal(err)
	}
	if got := inv.Count("tea"); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

func TestTakeTooMany(t *testing.T) {
	inv := filled()
	if err := inv.Take("milk", 3); !errors.Is(err, ErrTooFew) {
		t.Errorf("got %v, want %v", err, ErrTooFew)
	}
	if got := inv.Count("milk"); got != 2 {
		t.Errorf("count changed to %d", got)
	}
}

func TestLow(t *testing.T) {
	if got, want := filled().Low(5), []string{"milk", "salt"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMerge(t *testing.T) {
	inv, other := New(), New()
	other.Add("rice", 4)
	inv.Merge(other)
	if got := inv.Count("rice"); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}

func TestCountOfUnknown(t *testing.T) {
	if got := New().Count("gold"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}
