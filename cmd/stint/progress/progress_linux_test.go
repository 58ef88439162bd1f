package progress

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal returns the two ends of a new terminal. It skips the test on a machine that has none to give, such as a
// sandbox without /dev/ptmx; .ci/run fails if a test was skipped.
func terminal(t *testing.T) (program, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminal: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("this machine gives no terminal: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return program, screen
}

func TestProgressOnATerminal(t *testing.T) {
	program, screen := terminal(t)
	l := New(program)
	l.next = time.Time{}
	l.Show(func() string { return "half" })
	l.Clear()
	want := clearLine + "half" + clearLine
	got := make([]byte, len(want))
	if _, err := io.ReadFull(screen, got); err != nil || string(got) != want {
		t.Errorf("the terminal shows %q, %v, want %q", got, err, want)
	}
}
