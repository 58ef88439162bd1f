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
// the first process pass, the next call of the second process does not, and a call passes again after the window. If it
// is exact, five calls pass of eight that each process makes at the same time.
func limits(ctx context.Context, folder string, command []string, key string, exact bool) (library string, err error) {
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
	if exact {
		if _, err := withinASecond(key+"-at-once", func(key string) error { return atOnce(processes, key) }); err != nil {
			return library, err
		}
	}
	key, err = withinASecond(key, func(key string) error { return inTurn(processes, key) })
	if err != nil {
		return library, err
	}
	return library, comesBack(processes[1], key)
}

// errPassed says that calls passed which should not have, or did not pass.
var errPassed = errors.New("calls passed")

// withinASecond checks a limit, and checks it again with another key if the clock's second changed meanwhile: then more
// than five may rightly pass, because some libraries' windows begin with a second, and others return a token after one. It
// returns the last key.
func withinASecond(key string, check func(key string) error) (string, error) {
	deadline := time.Now().Add(patience / 2)
	for round := 0; time.Now().Before(deadline); round++ {
		key := fmt.Sprintf("%s-%d", key, round)
		second := time.Now().Unix()
		if err := check(key); !errors.Is(err, errPassed) || second == time.Now().Unix() {
			return key, err
		}
	}
	return key, fmt.Errorf("no calls were over within a second, for %v", patience/2)
}

// inTurn makes calls by one process, and then by the other.
func inTurn(processes [2]*limiting, key string) error {
	passed, err := processes[0].passed(key, 8)
	if err != nil {
		return err
	}
	others, err := processes[1].passed(key, 1)
	if err == nil && (passed != 5 || others != 0) {
		err = fmt.Errorf("%w: %d of 8, then %d of the other process; want 5 and 0", errPassed, passed, others)
	}
	return err
}

// atOnce makes calls by both processes at the same time.
func atOnce(processes [2]*limiting, key string) error {
	for _, p := range processes {
		if err := p.call(key, 8); err != nil {
			return err
		}
	}
	sum := 0
	for _, p := range processes {
		passed, err := p.outcome()
		if err != nil {
			return err
		}
		sum += passed
	}
	if sum != 5 {
		return fmt.Errorf("%w: %d of 16 of two processes at once; want 5", errPassed, sum)
	}
	return nil
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
func (p *limiting) passed(key string, calls int) (int, error) {
	if err := p.call(key, calls); err != nil {
		return 0, err
	}
	return p.outcome()
}

// call has calls made, and does not wait for their outcome.
func (p *limiting) call(key string, calls int) error {
	_, err := fmt.Fprintln(p.stdin, key, calls)
	return err
}

// outcome returns the number of calls that passed.
func (p *limiting) outcome() (passed int, err error) {
	answer, err := p.answer("passed")
	if err == nil {
		_, err = fmt.Sscan(answer, &passed)
	}
	return passed, err
}

// answer returns the rest of the next line that starts with a word. A line that starts with "failed" is an error. A program
// that is silent for long is killed.
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
