//go:build e2e

package compattest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
)

// patience bounds the time of one program, which is a failure and not slow if it takes longer. On a busy machine the start takes most of it.
const patience = 4 * time.Minute

// limits starts a program twice and returns the library's name and version. The library limits if five of eight calls of
// the first process pass, the next call of the second process does not, and a call passes again after the window.
func limits(ctx context.Context, folder string, command []string, key string) (library string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var processes [2]*limiting
	for i := range processes {
		p, err := startLimiting(ctx, folder, command)
		if err != nil {
			return strings.Join(command, " "), err
		}
		defer p.end()
		processes[i] = p
	}
	for _, p := range processes {
		if library, err = p.answer("uses"); err != nil {
			return strings.Join(command, " "), err
		}
		if _, err := p.passed(key+"-first", 1); err != nil { // the first call connects, and may load scripts
			return library, err
		}
	}
	return library, limit(processes, key)
}

// limit makes the calls, and makes them again with another key if the clock's second changed between them: then more than
// five may rightly pass, because some libraries' windows begin with a second, and others return a token after one.
func limit(processes [2]*limiting, key string) error {
	deadline := time.Now().Add(patience / 2)
	for round := 0; time.Now().Before(deadline); round++ {
		key := fmt.Sprintf("%s-%d", key, round)
		second := time.Now().Unix()
		passed, err := processes[0].passed(key, 8)
		if err != nil {
			return err
		}
		others, err := processes[1].passed(key, 1)
		switch {
		case err != nil:
			return err
		case passed == 5 && others == 0:
			return comesBack(processes[1], key)
		case second == time.Now().Unix():
			return fmt.Errorf("%d of 8 calls passed, then %d of the other process; want 5 and 0", passed, others)
		}
	}
	return fmt.Errorf("no eight calls were over within a second, for %v", patience/2)
}

// comesBack reports an error unless a call passes. It waits before each try, for longer than any program's window.
func comesBack(p *limiting, key string) error {
	for range 5 {
		time.Sleep(2500 * time.Millisecond)
		if passed, err := p.passed(key, 1); passed == 1 || err != nil {
			return err
		}
	}
	return errors.New("no call passes after the window")
}

// limiting is a process of a program.
type limiting struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Scanner
	others  strings.Builder // lines of stdout that are not answers
	stderr  strings.Builder
}

func startLimiting(ctx context.Context, folder string, args []string) (*limiting, error) {
	p := &limiting{command: testprocess.Command(ctx, args[0], args[1:]...)}
	p.command.Dir = folder
	p.command.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(output)
	return p, p.command.Start()
}

func (p *limiting) end() {
	p.stdin.Close()
	_ = testprocess.KillGroup(p.command)
	_ = p.command.Wait()
}

// passed makes calls, and returns the number that passed.
func (p *limiting) passed(key string, calls int) (passed int, err error) {
	if _, err := fmt.Fprintln(p.stdin, key, calls); err != nil {
		return 0, err
	}
	answer, err := p.answer("passed")
	if err == nil {
		_, err = fmt.Sscan(answer, &passed)
	}
	return passed, err
}

// answer returns the rest of the next line that starts with a word. A line that starts with "failed" is an error. A program
// that says nothing for long is killed.
func (p *limiting) answer(word string) (string, error) {
	late := time.AfterFunc(patience, func() { _ = testprocess.KillGroup(p.command) })
	defer late.Stop()
	for p.lines.Scan() {
		line := p.lines.Text()
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			return rest, nil
		}
		if reason, ok := strings.CutPrefix(line, "failed "); ok {
			return "", errors.New(reason)
		}
		p.others.WriteString(line + "\n")
	}
	err := p.command.Wait()
	return "", fmt.Errorf("%w: %w\n%s%s", errProgramEnded, err, p.others.String(), p.stderr.String())
}

var errProgramEnded = errors.New("the program ended")
