//go:build !unix

package main

import (
	"io"
	"os"
)

// terminalOf returns nil: terminals are not supported here, so a page of text is printed.
func terminalOf(io.Writer) *os.File { return nil }

func sizeOf(*os.File) (width, height int) { return 80, 24 }
