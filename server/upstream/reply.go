package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// Bounds of a reply from home.
const (
	maxReplyBulk  = 64 << 10
	maxReplyItems = 64
)

// Why a request to home has no answer of use.
var (
	errNotSent = errors.New("the home cluster is not connected")                      // home has not seen it
	errUnknown = errors.New("the home cluster did not answer in time")                // it may have been carried out
	errFull    = errors.New("too many requests wait for answers of the home cluster") // home has not seen it
	errReply   = errors.New("the home cluster sent a reply that does not fit the request")
	errRefused = errors.New("the home cluster has refused the request")                 // an error of home, which has done nothing
	errPauses  = errors.New("the home cluster cannot decide requests at present")       // such as without a leader; it has done nothing
	errNoLogin = errors.New("the home cluster did not accept the user or the password") // the connection is of no use
)

// reply is a reply of home: integers, an error, or the text of anything else.
type reply struct {
	ints    []int64
	refusal string // the text of an error
	text    string
}

// refused returns the error that a reply is, or nil.
func (r *reply) refused() error {
	switch {
	case r.refusal == "":
		return nil
	case codeOf(r.refusal) == codeOf(command.ErrUncertain.Error()):
		return errUnknown
	case slices.ContainsFunc(pauses, func(err error) bool { return codeOf(r.refusal) == codeOf(err.Error()) }):
		return errPauses
	}
	return errRefused
}

// pauses are the errors of a home that decides nothing for now.
var pauses = []error{command.ErrNoLeader, command.ErrOverloaded, command.ErrImporting}

// codeOf returns the first word of an error.
func codeOf(text string) string {
	code, _, _ := strings.Cut(text, " ")
	return code
}

// movedCode begins the error of a node that names another, noLeaderCode that of a node without a leader.
var (
	movedCode    = codeOf(command.UndecidedError(engine.Moved, 0, "home").Error())
	noLeaderCode = codeOf(command.ErrNoLeader.Error())
)

// movedTo returns the address of the node that a reply names as the one that decides, "" for none.
func (r *reply) movedTo() string {
	if words := strings.Fields(r.refusal); len(words) == 3 && words[0] == movedCode {
		return words[2]
	}
	return ""
}

// readReply reads a reply in RESP2.
func readReply(in *bufio.Reader) (r reply, err error) {
	kind, line, err := readLine(in)
	if err != nil {
		return r, err
	}
	switch kind {
	case '+':
		r.text = line
	case '-':
		r.refusal = line
	case ':':
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return r, errReply
		}
		r.ints = []int64{n}
	case '$':
		r.text, err = readBulk(in, line)
	case '*':
		err = r.readItems(in, line)
	default:
		err = errReply
	}
	return r, err
}

func (r *reply) readItems(in *bufio.Reader, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n > maxReplyItems {
		return errReply
	}
	for range n {
		kind, line, err := readLine(in)
		if err != nil {
			return err
		}
		one, err := strconv.ParseInt(line, 10, 64)
		if kind != ':' || err != nil {
			return errReply
		}
		r.ints = append(r.ints, one)
	}
	return nil
}

func readLine(in *bufio.Reader) (kind byte, rest string, err error) {
	line, err := in.ReadSlice('\n')
	switch {
	case err != nil:
		return 0, "", fmt.Errorf("no reply: %w", err)
	case len(line) < 3 || line[len(line)-2] != '\r':
		return 0, "", errReply
	}
	return line[0], string(line[1 : len(line)-2]), nil
}

func readBulk(in *bufio.Reader, length string) (string, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n > maxReplyBulk:
		return "", errReply
	case n < 0:
		return "", nil
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(in, text); err != nil {
		return "", fmt.Errorf("no reply: %w", err)
	}
	return string(text[:n]), nil
}

// appendCommand appends a request as RESP.
func appendCommand(b []byte, words []string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(w)), 10), "\r\n"...)
		b = append(append(b, w...), "\r\n"...)
	}
	return b
}
