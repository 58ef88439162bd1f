//go:build unix

package screen

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// heightOf is the number of lines of a terminal, 0 if it is unknown.
func heightOf(out io.Writer) int {
	file, is := out.(*os.File)
	if !is {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}
