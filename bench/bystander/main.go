// Command bystander shows what one user's connections do to another's requests: it sends each of many commands from
// forty connections of one user, as fast as replies come, and meanwhile measures CL.THROTTLE of another user, a request
// each half a millisecond, from a process of its own.
//
// It empties the server that it is pointed at:
//
//	stint server --listen 127.0.0.1:7000 --admin '' &
//	go run ./bystander -server 127.0.0.1:7000 -empty
package main

import (
	"bufio"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	server      = flag.String("server", "", "address of the server, HOST:PORT; it is emptied")
	overTLS     = flag.String("tls", "", "address to which the hostile user connects by TLS; -server if empty, without TLS")
	empty       = flag.Bool("empty", false, "agree to lose all keys of the server")
	only        = flag.String("only", "", "only the attacks whose names have this text in them")
	connections = flag.Int("connections", 40, "connections of the hostile user")
	seconds     = flag.Float64("seconds", 2, "how long each attack is measured")
	measures    = flag.Bool("measure", false, "be the other user; set by the program itself")
)

func main() {
	flag.Parse()
	err := fmt.Errorf("-server and -empty are needed: all keys of that server are deleted")
	switch {
	case *measures:
		err = measure()
	case *server != "" && *empty:
		err = attackAll()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bystander:", err)
		os.Exit(1)
	}
}

// attackAll prints a line of a Markdown table for each attack.
func attackAll() error {
	c, err := dial("")
	if err != nil {
		return err
	}
	if err := fill(c); err != nil {
		return err
	}
	fmt.Println("| forty connections send | p50, ms | p99, ms | longest, ms | their replies a second |\n|---|---|---|---|---|")
	for _, a := range attacks {
		if !strings.Contains(a.name, *only) {
			continue
		}
		row, replies, err := beside(a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		fmt.Printf("| %s | %s | %.0f |\n", a.name, row, float64(replies) / *seconds)
	}
	return nil
}

// beside measures while hostile connections send an attack.
func beside(a attack) (row string, replies int64, err error) {
	var stopped atomic.Bool
	var count atomic.Int64
	var running sync.WaitGroup
	var input []byte
	for _, command := range a.commands {
		input = appendCommand(input, command)
	}
	for range *connections {
		c, err := dial("hostile")
		if err != nil {
			return "", 0, err
		}
		running.Go(func() {
			defer c.conn.Close()
			for !stopped.Load() && len(input) > 0 {
				go func() { _, _ = c.conn.Write(input) }() // replies are read meanwhile
				for range a.commands {
					if c.skipReply() != nil {
						return
					}
					count.Add(1)
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	before := count.Load()
	out, err := exec.Command(os.Args[0], "-measure", "-server", *server, "-seconds", fmt.Sprint(*seconds)).Output()
	replies = count.Load() - before
	stopped.Store(true)
	running.Wait()
	return strings.TrimSpace(string(out)), replies, err
}

// measure prints the median, the 99th percentile and the longest of the times of CL.THROTTLE.
func measure() error {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -10) // as a client on another machine, it has a processor when it needs one
	c, err := dial("")
	if err != nil {
		return err
	}
	var took []float64
	for end := time.Now().Add(time.Duration(*seconds * float64(time.Second))); time.Now().Before(end); time.Sleep(500 * time.Microsecond) {
		began := time.Now()
		if err := c.do(words(fmt.Sprintf("CL.THROTTLE user:%d 100 100 60", len(took)%1000))); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(took)
	fmt.Printf("%.2f | %.2f | %.2f\n", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	return nil
}

// client is a connection.
type client struct {
	conn net.Conn
	r    *bufio.Reader
}

// dial connects, as a user whose password is its name, or as the default user.
func dial(user string) (*client, error) {
	var conn net.Conn
	var err error
	if user != "" && *overTLS != "" {
		conn, err = tls.Dial("tcp", *overTLS, &tls.Config{InsecureSkipVerify: true}) // the certificate of a test
	} else {
		conn, err = net.Dial("tcp", *server)
	}
	if err != nil {
		return nil, err
	}
	c := &client{conn, bufio.NewReaderSize(conn, 256<<10)}
	if user != "" {
		err = c.do([]string{"AUTH", user, user})
	}
	return c, err
}

// do sends a command and skips its reply. An error reply is an error.
func (c *client) do(command []string) error {
	if _, err := c.conn.Write(appendCommand(nil, command)); err != nil {
		return err
	}
	if kind, err := c.r.Peek(1); err == nil && kind[0] == '-' {
		line, _ := c.r.ReadString('\n')
		return fmt.Errorf("%s: %s", command[0], strings.TrimSpace(line))
	}
	return c.skipReply()
}

// skipReply reads a reply, with all its parts.
func (c *client) skipReply() error {
	for left := 1; left > 0; left-- {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		switch {
		case line[0] == '*' && n > 0:
			left += n
		case line[0] == '$' && n >= 0:
			if _, err := io.CopyN(io.Discard, c.r, int64(n)+2); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendCommand(b []byte, args []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}
