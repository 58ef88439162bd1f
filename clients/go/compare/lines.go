package main

import (
	"fmt"
	"strconv"
	"strings"
)

// readLines reads a text and numbers, one per line.
func readLines(text string, into []any) error {
	lines := strings.Split(text, "\n")
	if len(lines) != len(into) {
		return fmt.Errorf("%d lines in place of %d", len(lines), len(into))
	}
	for i, line := range lines {
		switch to := into[i].(type) {
		case *string:
			*to = line
		case *int64:
			n, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				return err
			}
			*to = n
		}
	}
	return nil
}
