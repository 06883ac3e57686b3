// Package sku reads the numbers of articles.
package sku

import (
	"fmt"
	"strconv"
	"strings"
)

// SKU names an article: three letters and a number.
type SKU struct {
	Group  string
	Number int
}

// Parse reads `TEA-100`.
func Parse(text string) (SKU, error) {
	parts := strings.Split(text, "-")
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		return SKU{}, fmt.Errorf("sku %q: not a number", text)
	}
	return SKU{Group: strings.ToUpper(parts[0]), Number: number}, nil
}

// String writes it as it was read.
func (s SKU) String() string {
	return fmt.Sprintf("%s-%d", s.Group, s.Number)
}

// Next is the article after this one.
func (s SKU) Next() SKU {
	s.Number++
	return s
}
