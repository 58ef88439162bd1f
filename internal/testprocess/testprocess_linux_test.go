package testprocess

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asParent makes this test's program a process that starts a child and waits.
const asParent = "STINT_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		grandchild := Command(context.Background(), "sleep", "1000")
		grandchild.Stdout = os.Stdout
		if err := grandchild.Start(); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("started\n")
		_ = grandchild.Wait()
		return
	}
	os.Exit(m.Run())
}

// started starts a process, and returns its output once it has said that it and its own child hold it.
func started(t *testing.T, cmd *exec.Cmd) (output *os.File) {
	t.Helper()
	output, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	_ = output.SetReadDeadline(time.Now().Add(30 * time.Second))
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "started\n" {
		t.Fatalf("it says %q (%v)", line, err)
	}
	return output
}

// ends waits until no process holds the output.
func ends(t *testing.T, output *os.File) {
	t.Helper()
	if _, err := output.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a process goes on: %v", err)
	}
}

// A child ends when its parent is killed, which cannot do anything about it.
func TestChildEndsWithItsParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	output := started(t, parent)
	_ = parent.Process.Kill()
	_ = parent.Wait()
	ends(t, output)
}

// The end of the context also ends the processes that a child has started.
func TestContextEndsTheGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	shell := Command(ctx, "sh", "-c", "sleep 1000 & echo started; wait")
	output := started(t, shell)
	cancel()
	if err := shell.Wait(); err == nil {
		t.Error("it ended well")
	}
	ends(t, output)
}

// Wait also ends the processes that a child has left behind.
func TestWaitEndsTheGroup(t *testing.T) {
	shell := Command(t.Context(), "sh", "-c", "sleep 1000 & echo started")
	output := started(t, shell)
	if err := Wait(shell); err != nil {
		t.Error(err)
	}
	ends(t, output)
}

// A process that is left behind with the output does not hold up the wait for its parent.
func TestOutputIsNotWaitedForWithoutEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	shell := Command(t.Context(), "sh", "-c", `sleep 1000 & echo $! >"$0"`, file)
	shell.WaitDelay = time.Millisecond
	if _, err := shell.Output(); !errors.Is(err, exec.ErrWaitDelay) {
		t.Error(err)
	}
	number, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(string(number)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(left, syscall.SIGKILL); err != nil {
		t.Error("it has left no process behind: ", err)
	}
}
