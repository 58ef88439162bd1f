// Package screen draws what stint top shows, and takes over a terminal while it does.
package screen

import (
	"bytes"
	"fmt"
	"io"
)

// The control sequences of a terminal.
const (
	enter    = "\x1b[?1049h\x1b[?7l\x1b[?25l" // the alternate screen, without wrapping lines and without a cursor
	leave    = "\x1b[?25h\x1b[?7h\x1b[?1049l"
	home     = "\x1b[H"
	clearEnd = "\x1b[K" // the rest of the line
	clearAll = "\x1b[J" // everything below
)

// Screen is a terminal that shows one page after another. What the terminal showed before comes back when it is closed.
type Screen struct {
	out    io.Writer
	height func() int // in lines; 0 if it is unknown
}

// Open takes over a terminal. The caller closes the screen.
func Open(out io.Writer) (*Screen, error) {
	_, err := io.WriteString(out, enter)
	return &Screen{out, func() int { return heightOf(out) }}, err
}

// Close gives the terminal back.
func (s *Screen) Close() error {
	_, err := io.WriteString(s.out, leave)
	return err
}

// Show replaces the page. If the page has more lines than the terminal, the last line says how many are missing.
func (s *Screen) Show(page []byte) error {
	lines := bytes.Split(bytes.TrimSuffix(page, []byte("\n")), []byte("\n"))
	if height := s.height(); height > 1 && len(lines) > height {
		more := fmt.Sprintf("%d more lines: stint top --once prints all of them", len(lines)-height+1)
		lines = append(lines[:height-1:height-1], []byte(more))
	}
	shown := append([]byte(home), bytes.Join(lines, []byte(clearEnd+"\n"))...)
	_, err := s.out.Write(append(shown, clearEnd+clearAll...))
	return err
}
