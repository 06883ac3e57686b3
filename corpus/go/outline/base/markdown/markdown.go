// Package markdown finds the headings of a Markdown text.
package markdown

import (
	"bufio"
	"io"
	"strings"
)

// Heading is one heading.
type Heading struct {
	Level int
	Text  string
	Line  int
}

// Headings reads all headings, in order. What stands in fences is no heading.
func Headings(r io.Reader) ([]Heading, error) {
	var all []Heading
	fenced := false
	scanner := bufio.NewScanner(r)
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(line, "#") {
			continue
		}
		text := strings.TrimLeft(line, "#")
		all = append(all, Heading{Level: len(line) - len(text), Text: strings.TrimSpace(text), Line: n})
	}
	return all, scanner.Err()
}

// Anchor is the name to which a link to the heading points.
func Anchor(text string) string {
	return strings.ReplaceAll(strings.ToLower(text), " ", "-")
}
