package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/stats"
)

// withPassword has the server ask for the password tea.
func withPassword(c *config.Config) {
	row, _ := config.Lookup("requirepass")
	if err := row.Set(c, "tea"); err != nil {
		panic(err)
	}
}

func newLoginPlayer(t *testing.T, set ...func(*config.Config)) *sessionPlayer {
	return &sessionPlayer{testHost: newHost(t, nil, append(set, withPassword)...), conns: map[string]*pipe{}}
}

// Guessing is held to --failed-logins a minute for an address, over however many connections; the others are not
// slowed down by it, and neither is a right password from an address that made no mistakes.
func TestBruteForce(t *testing.T) {
	const perMinute = 10
	minutes := testsize.Pick(5, 30)
	p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins = perMinute })
	looked, conns := 0, 0
	for second := range minutes * 60 {
		for range 20 { // new connections every second, as many as like
			conns++
			c := p.open(fmt.Sprintf("203.0.113.7:%d", conns))
			c.deliver(frames(fmt.Sprintf("AUTH guess%d", second)))
			if second%60 != 0 && !strings.Contains(c.sent.String(), "try again") { // the attempt waits for its turn
				continue
			}
			c.hangUp()
		}
		p.Advance(time.Second)
		for name, c := range p.conns {
			if c.sent.Len() > 0 || second%20 == 19 {
				c.hangUp()
			}
			if c.closed {
				delete(p.conns, name)
			}
		}
		other := p.open("198.51.100.1:1")
		other.deliver(frames("AUTH tea"))
		if got := other.reply(t); got != "+OK\r\n" {
			t.Fatalf("second %d: a right password from elsewhere is answered %q", second, got)
		}
		other.hangUp()
		delete(p.conns, "198.51.100.1:1")
	}
	looked = int(p.env.Stats.RejectionCount(stats.WrongPassword))
	if most := perMinute * (minutes + 1); looked > most || looked < perMinute {
		t.Errorf("%d guesses were looked at in %d minutes, want at most %d", looked, minutes, most)
	}
	if p.env.Stats.RejectionCount(stats.LoginRejected) == 0 {
		t.Error("no guess was refused")
	}
	t.Logf("%d attempts in %d minutes: %d looked at, %d refused", conns, minutes, looked, p.env.Stats.RejectionCount(stats.LoginRejected))
}

// An attempt whose turn comes later is answered then, right or wrong; and a client that leaves leaves nothing behind.
func TestLoginWaits(t *testing.T) {
	p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins = 60 })
	c := p.open("203.0.113.7:1")
	for range 60 {
		c.deliver(frames("AUTH wrong"))
	}
	c.reply(t)
	c.deliver(frames("AUTH wrong", "AUTH tea", "PING"))
	if got := c.reply(t); got != "" {
		t.Fatalf("answered at once: %q", got)
	}
	p.Advance(time.Second)
	if got := c.reply(t); got != "-WRONGPASS invalid username-password pair or user is disabled.\r\n" {
		t.Fatalf("after a second: %q", got)
	}
	p.Advance(time.Second)
	if got := c.reply(t); got != "+OK\r\n+PONG\r\n" {
		t.Fatalf("after two seconds: %q", got)
	}
	c.deliver(frames("HELLO 2 AUTH default tea SETNAME x"))
	p.Advance(time.Second)
	if got := c.reply(t); !strings.HasPrefix(got, "*14\r\n") {
		t.Fatalf("HELLO: %q", got)
	}
	d := p.open("203.0.113.7:2")
	d.deliver(frames("AUTH wrong", "AUTH wrong"))
	d.hangUp()
	if n := p.env.WaitQueue.Len(); n != 0 {
		t.Errorf("%d logins wait for nobody", n)
	}
}

// However many addresses fail to log in, the table of them stays within its bound, they are still slowed down, and a
// right password from an address that made no mistakes is not.
func TestManyAddresses(t *testing.T) {
	for name, address := range map[string]func(i int) string{
		"of one /48":   func(i int) string { return fmt.Sprintf("[2001:db8:1:%x::1]:1", i&0xffff) },
		"of many /32s": func(i int) string { return fmt.Sprintf("[2%03x:%x::1]:1", i>>12, i&0xfff) },
		"of IPv4":      func(i int) string { return fmt.Sprintf("11.%d.%d.%d:1", i>>14&255, i>>6&255, i&63) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins = 1 })
			const attackers = 100_000
			granted := 0
			for i := range attackers { // a guess of each
				if _, r := p.env.Logins.Acquire(address(i), 1); r.Allowed {
					granted++
				}
			}
			if bytes := p.env.Logins.Bytes(); bytes > 2*loginlimit.TableBytes {
				t.Errorf("%d bytes are kept, want at most %d", bytes, 2*loginlimit.TableBytes)
			}
			if kept := p.env.Logins.Keys(); granted > kept || kept < 30_000 {
				t.Errorf("%d attempts of %d were looked at at once, by %d keys", granted, attackers, kept)
			}
			for i := range 30 {
				c := p.open(fmt.Sprintf("198.51.100.%d:1", i))
				c.deliver(frames("AUTH tea"))
				if got := c.reply(t); got != "+OK\r\n" {
					t.Fatalf("a right password from an address without failures: %q", got)
				}
			}
		})
	}
}

// While others guess from the same address, over connections that stay, a right password has the next turn.
func TestRightPasswordAmongGuesses(t *testing.T) {
	const perMinute, guessers = 10, 8
	p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins = perMinute })
	var guessing []*pipe
	for i := range guessers {
		guessing = append(guessing, p.open(fmt.Sprintf("203.0.113.7:%d", i)))
	}
	guess := func() {
		for i, c := range guessing {
			if c.reply(t) != "" || !c.Public().Awaits(wait.ForLogin) {
				c.deliver(frames(fmt.Sprintf("AUTH guess%d", i)))
			}
		}
	}
	for range 60 {
		guess()
		p.Advance(time.Second)
	}
	const logins = 30
	for i := range logins {
		c := p.open(fmt.Sprintf("203.0.113.7:%d", 1000+i))
		c.deliver(frames("AUTH tea"))
		got := c.reply(t)
		for second := 0; got == "" && second <= 60/perMinute; second++ {
			guess()
			p.Advance(time.Second)
			got = c.reply(t)
		}
		if got != "+OK\r\n" {
			t.Errorf("login %d is answered %q", i, got)
		}
		c.hangUp()
		delete(p.conns, c.Public().Addr())
	}
	minutes := int(p.clock.Uptime()/time.Minute) + 1
	if looked := int(p.env.Stats.RejectionCount(stats.WrongPassword)); looked > perMinute*(minutes+1) {
		t.Errorf("%d guesses were looked at in %d minutes", looked, minutes)
	}
}

// Where every guess comes over a new connection, the order is random, so a right password gets in after some attempts.
func TestRightPasswordAmongNewConnections(t *testing.T) {
	const perMinute, guessers, attempts = 20, 8, 200
	p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins = perMinute })
	port, right := 1, 0
	next := func(command string) *pipe {
		port++
		c := p.open(fmt.Sprintf("203.0.113.7:%d", port))
		c.deliver(frames(command))
		return c
	}
	leave := func(c *pipe) {
		c.hangUp()
		delete(p.conns, c.Public().Addr())
	}
	var guessing []*pipe
	for range guessers {
		guessing = append(guessing, next("AUTH guess"))
	}
	guess := func() {
		for i, c := range guessing {
			if c.reply(t) != "" {
				leave(c)
				guessing[i] = next("AUTH guess")
			}
		}
	}
	for range perMinute {
		guess()
	}
	for range attempts {
		good, got := next("AUTH tea"), ""
		for got = good.reply(t); got == ""; got = good.reply(t) {
			guess()
			p.Advance(time.Second)
		}
		guess()
		if got == "+OK\r\n" {
			right++
		}
		leave(good)
	}
	if right < attempts/10 {
		t.Errorf("%d of %d right passwords were let in", right, attempts)
	}
	minutes := int(p.clock.Uptime()/time.Minute) + 1
	if looked := int(p.env.Stats.RejectionCount(stats.WrongPassword)); looked > perMinute*(minutes+1) {
		t.Errorf("%d guesses were looked at in %d minutes", looked, minutes)
	}
	t.Logf("%d of %d right passwords were let in", right, attempts)
}

// Before it has logged in, a connection may send little, and leave little unread.
func TestPreauthBounds(t *testing.T) {
	p := newLoginPlayer(t)
	for name, in := range map[string][]byte{
		"eleven arguments":   frame(strings.Split("AUTH 2 3 4 5 6 7 8 9 10 11", " ")...),
		"a long argument":    frame("AUTH", strings.Repeat("x", 16<<10+1)),
		"an unfinished line": []byte(strings.Repeat("x", 16<<10+1)),
		"unfinished":         []byte("*10\r\n$4\r\nAUTH\r\n$16000\r\n" + strings.Repeat("x", 16_000) + "\r\n$16000\r\n" + strings.Repeat("x", 1000)),
	} {
		c := p.open(name)
		c.deliver(in)
		if got := c.sent.String(); !c.closed || !strings.HasPrefix(got, "-ERR Protocol error: ") {
			t.Errorf("%s: closed %v, %q", name, c.closed, got)
		}
	}
	c := p.open("in one piece")
	c.deliver(append(frames("AUTH tea"), frame(append([]string{"EXISTS"}, make([]string, 100)...)...)...))
	if got := c.sent.String(); got != "+OK\r\n:0\r\n" {
		t.Errorf("after a login in the same bytes: %q", got)
	}
}

// A client that does not log in and does not read is closed before its replies take much.
func TestPreauthUnread(t *testing.T) {
	h := serve(t, withPassword)
	conn := h.dial(t)
	go func() {
		for in := frames("PING"); ; {
			if _, err := conn.Write(in); err != nil {
				return
			}
		}
	}()
	eventually(t, "it is closed", func() bool { return h.env.Stats.SlowReaders.Load() == 1 })
}

// A connection that does not log in in time is closed; one that did is not.
func TestAuthTimeout(t *testing.T) {
	h := serve(t, withPassword)
	late, early := h.dial(t), h.dial(t)
	expect(t, early, frames("AUTH tea"), "+OK\r\n")
	expect(t, late, frames("PING"), "-NOAUTH Authentication required.\r\n")
	h.clock.Advance(h.Config().AuthTimeout + time.Second)
	if rest, err := io.ReadAll(late); len(rest) > 0 || err != nil && !gone(err) {
		t.Errorf("%q, %v", rest, err)
	}
	expect(t, early, frames("PING"), "+PONG\r\n")
	if n := h.env.Stats.RejectionCount(stats.LoginTimedOut); n != 1 {
		t.Errorf("%d connections were closed", n)
	}
}

// In protected mode, remote clients get an error with the reason, until there is a password.
func TestProtectedMode(t *testing.T) {
	elsewhere := otherAddress(t)
	h := serve(t, func(c *config.Config) { c.Listen = []string{"0.0.0.0:0"} })
	_, port, _ := net.SplitHostPort(h.addr)
	h.addr = "127.0.0.1:" + port
	local := h.dial(t)
	expect(t, local, frames("PING"), "+PONG\r\n")

	greet := func() string {
		conn, err := net.Dial("tcp", net.JoinHostPort(elsewhere, port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(giveUp))
		_, _ = conn.Write(frames("PING"))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return line
	}
	if got, want := greet(), "-"+command.ErrProtected.Error()+"\r\n"; got != want {
		t.Errorf("from elsewhere: %q", got)
	}
	expect(t, local, frames("CONFIG SET requirepass tea"), "+OK\r\n")
	if got := greet(); got != "-NOAUTH Authentication required.\r\n" {
		t.Errorf("from elsewhere, with a password set: %q", got)
	}
	expect(t, local, frame("CONFIG", "SET", "requirepass", "", "protected-mode", "no"), "+OK\r\n")
	if got := greet(); got != "+PONG\r\n" {
		t.Errorf("from elsewhere, without protected mode: %q", got)
	}
}

// otherAddress is one of this machine's own addresses that is not of the loopback.
func otherAddress(t *testing.T) string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback's")
	return ""
}

// Users outlive a restart in their file, and an invalid file changes nothing.
func TestUserFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# who may do what\n\nuser default off\nuser bob on >tea ~b:* +@limiter max-keys=10\n")
	users, err := acl.New(acl.Settings{File: file, LogLength: 10})
	if err != nil {
		t.Fatal(err)
	}
	bob, right := users.Authenticate("bob", []byte("tea"))
	if !right {
		t.Fatal("bob is not let in")
	}
	if err := users.Set("eve", []string{"on", ">spy", "~*", "+@read"}); err != nil {
		t.Fatal(err)
	}
	if err := users.Save(); err != nil {
		t.Fatal(err)
	}
	lines := users.Lines()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	again, err := acl.New(acl.Settings{File: file, LogLength: 10})
	if err != nil || fmt.Sprint(again.Lines()) != fmt.Sprint(lines) {
		t.Errorf("read back: %v, %q\nwant %q", err, again.Lines(), lines)
	}
	for text, want := range map[string]string{
		"user bob on\nuser bob off\n": "line 2: user 'bob' comes twice", "bob on": "line 1: a line is: user NAME RULE…",
		"user": "line 1: a line is", "user bob >tea\nuser x +nothing": "line 2: '+nothing'", "user bob ~* max-keys=5 ~b?": "max-keys counts",
		"user x !tea": "line 1: '!(password)'",
	} {
		write(text)
		if err := users.Load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if fmt.Sprint(users.Lines()) != fmt.Sprint(lines) {
			t.Errorf("%q changed the users to %q", text, users.Lines())
		}
	}
	write("user bob on >coffee ~b:* +@limiter\n")
	if err := users.Load(); err != nil {
		t.Fatal(err)
	}
	if _, right := users.Authenticate("bob", []byte("tea")); right {
		t.Error("the old password still lets bob in")
	}
	if same, right := users.Authenticate("bob", []byte("coffee")); !right || same != bob {
		t.Error("bob is somebody else after LOAD")
	}
	if _, right := users.Authenticate("eve", []byte("spy")); right {
		t.Error("eve is still let in")
	}
}
