// Command outline writes the table of contents of a Markdown text.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"example.com/outline/markdown"
	"example.com/outline/render"
)

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("outline", flag.ContinueOnError)
	flags.SetOutput(errOut)
	max := flags.Int("max", 0, "the deepest level")
	link := flags.Bool("link", false, "write links")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	headings, err := markdown.Headings(in)
	if err != nil {
		fmt.Fprintln(errOut, "outline:", err)
		return 1
	}
	if err := render.Write(out, headings, render.Options{Max: *max, Link: *link}); err != nil {
		fmt.Fprintln(errOut, "outline:", err)
		return 1
	}
	return 0
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
