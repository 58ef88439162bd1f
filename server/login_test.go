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

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
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
	const perMinute, minutes = 10, 30
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
	looked = int(p.stats.refused[wrongPassword].Load())
	if most := perMinute * (minutes + 1); looked > most || looked < perMinute {
		t.Errorf("%d guesses were looked at in %d minutes, want at most %d", looked, minutes, most)
	}
	if p.stats.refused[loginRefused].Load() == 0 {
		t.Error("no guess was refused")
	}
	t.Logf("%d attempts in %d minutes: %d looked at, %d refused", conns, minutes, looked, p.stats.refused[loginRefused].Load())
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
	if n := p.waits.Len(); n != 0 {
		t.Errorf("%d logins wait for nobody", n)
	}
}

// One IPv6 customer has a whole network of addresses, and is one address here.
func TestNetworkOf(t *testing.T) {
	for addr, want := range map[string]string{
		"203.0.113.7:1": "203.0.113.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:7": "2001:db8:1:2::/64",
		"[::ffff:203.0.113.7]:1": "203.0.113.7", "[fe80::1%eth0]:1": "fe80::/64", "": "local", "@": "local",
	} {
		if got := networkOf(addr); got != want {
			t.Errorf("%s is counted as %s, want %s", addr, got, want)
		}
	}
}

// However many addresses fail to log in, the table of them stays within its bound, and they are still slowed down.
func TestManyAddresses(t *testing.T) {
	g := newGuard()
	defer g.logins.Close()
	now, granted := testStart.UnixNano(), 0
	for i := range 300_000 {
		key := loginKey(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff))
		if _, r := g.takeLogin(now, key, 1); r.Allowed && r.Wait == 0 {
			granted++
		}
	}
	if bytes := g.logins.Bytes(); bytes > guardBytes {
		t.Errorf("%d bytes are kept, want at most %d", bytes, guardBytes)
	}
	if granted > 50_000 {
		t.Errorf("%d attempts were looked at at once", granted)
	}
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
	eventually(t, "it is closed", func() bool { return h.stats.slowReaders.Load() == 1 })
}

// Whoever does not log in in time is closed; whoever did is not.
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
	if n := h.stats.refused[lateLogin].Load(); n != 1 {
		t.Errorf("%d connections were closed", n)
	}
}

// In protected mode, those from elsewhere are told why they are refused, until there is a password.
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

// Users outlive a restart in their file, and what is wrong in a file changes nothing.
func TestUserFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# who may do what\n\nuser default off\nuser bob on >tea ~b:* +@limiter max-keys=10\n")
	users, err := acl.New(acl.Options{File: file, LogLength: 10})
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
	again, err := acl.New(acl.Options{File: file, LogLength: 10})
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
