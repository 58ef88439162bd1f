//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminalOf returns the terminal behind a writer, nil if it is none.
func terminalOf(w io.Writer) *os.File {
	file, is := w.(*os.File)
	if !is {
		return nil
	}
	if _, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err != nil {
		return nil
	}
	return file
}

// sizeOf is the number of columns and lines of a terminal.
func sizeOf(file *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}
