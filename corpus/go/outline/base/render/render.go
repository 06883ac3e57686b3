// Package render writes tables of contents.
package render

import (
	"fmt"
	"io"
	"strings"

	"example.com/outline/markdown"
)

// Options say what is written.
type Options struct {
	Max  int  // levels deeper than this are left out; 0 is no limit
	Link bool // whether entries are links
}

// Write writes one line per heading.
func Write(w io.Writer, headings []markdown.Heading, options Options) error {
	for _, heading := range headings {
		if options.Max > 0 && heading.Level > options.Max {
			continue
		}
		text := heading.Text
		if options.Link {
			text = fmt.Sprintf("[%s](#%s)", text, markdown.Anchor(text))
		}
		indent := strings.Repeat("  ", heading.Level-1)
		if _, err := fmt.Fprintf(w, "%s- %s\n", indent, text); err != nil {
			return err
		}
	}
	return nil
}
