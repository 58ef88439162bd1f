//go:build !unix

package main

import (
	"io"
	"os"
)

// terminalOf knows no terminals here: a page of text is printed.
func terminalOf(io.Writer) *os.File { return nil }

func sizeOf(*os.File) (width, height int) { return 80, 24 }
