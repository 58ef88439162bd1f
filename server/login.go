package server

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// guard is the limiter that keeps the server's own limits: on failed logins for each address, and on requests for each
// user. It is bounded as every store is.
type guard struct {
	logins *engine.Store
	users  *engine.Store // as many keys as there are users
}

// guardBytes bounds the memory of the server's own limits: some 20,000 addresses with failed logins. Beyond that, new
// addresses share one limit.
const guardBytes = 2 << 20

func newGuard() guard {
	return guard{engine.New(engine.Options{Shards: 16, MaxBytes: guardBytes}), engine.New(engine.Options{Shards: 16})}
}

// sweep drops what is as good as new.
func (g guard) sweep(now int64) {
	g.logins.Sweep(now, minSweep)
	g.users.Sweep(now, minSweep)
}

func ask(s *engine.Store, now int64, op engine.Op) (r engine.Result) {
	results := [1]engine.Result{}
	s.Apply(now, []engine.Op{op}, results[:])
	return results[0]
}

const (
	// loginWait is how long an attempt to log in may be made to wait; one that would have to wait longer is refused.
	loginWait   = 10 * time.Second
	otherLogins = "login" // the key of addresses there is no room for
)

// loginLimit lets an address fail n times in a minute: all at once, then evenly.
func loginLimit(n int) engine.Limit {
	return engine.Limit{Algorithm: engine.TokenBucket, Capacity: int64(n), Rate: engine.Rate{Tokens: int64(n), Period: int64(time.Minute)}}
}

// loginKey is what failed logins are counted under: an IPv4 address, the /64 network of an IPv6 address, which is what
// one customer has, or all that is local.
func loginKey(addr string) []byte { return []byte("login " + networkOf(addr)) }

// localNetwork is the network of unix sockets.
const localNetwork = "local"

// networkOf is the part of a client's address that it cannot change at will.
func networkOf(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return localNetwork
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(64)
		return network.String()
	}
	return ip.String()
}

// takeLogin takes a token for an attempt and tells when its turn is. Without room for the address, it shares one limit with
// all others there is no room for.
func (g guard) takeLogin(now int64, key []byte, perMinute int) (used []byte, r engine.Result) {
	op := engine.Op{Key: key, Limit: loginLimit(perMinute), Tokens: 1, MaxWait: int64(loginWait)}
	if r = ask(g.logins, now, op); r.Status == engine.OutOfRoom {
		op.Key = []byte(otherLogins)
		r = ask(g.logins, now, op)
	}
	return op.Key, r
}

// Login implements [command.Session]. Every attempt takes a token of its address, and a right one gives it back: so
// right passwords are never slowed down unless wrong ones came from the same address before.
func (s *session) Login(name, password []byte, answer func(*resp.Writer, error), w *resp.Writer) {
	key, r := s.host.guard.takeLogin(s.host.clock.Now(), loginKey(s.addr), s.host.Config().FailedLogins)
	if !r.Allowed {
		s.host.refuse(loginRefused)
		answer(w, fmt.Errorf("ERR too many failed logins from this address, try again in %d s", (r.Wait+int64(time.Second)-1)/int64(time.Second)))
		return
	}
	if r.Wait == 0 {
		answer(w, s.login(name, password, key))
		return
	}
	name, password = bytes.Clone(name), bytes.Clone(password)
	a := &awaited{quiet: s.silent, finish: func(w *resp.Writer) { answer(w, s.login(name, password, key)) }}
	s.awaited = a
	a.wait = s.host.waits.after(s.host.clock.Now()+r.Wait, func() {
		a.over.Store(true)
		s.wake()
	})
}

// login looks at the password.
func (s *session) login(name, password, key []byte) error {
	user, right := s.host.users.Authenticate(string(name), password)
	if !right {
		s.host.refuse(wrongPassword)
		s.host.noteDenial(command.Denial{Reason: "auth", Context: "toplevel", Object: "AUTH", User: clipped(string(name)), Client: s.line()})
		return command.ErrWrongPass
	}
	ask(s.host.guard.logins, s.host.clock.Now(), engine.Op{Verb: engine.Refund, Key: key, Tokens: 1})
	s.user, s.client.User = user, user.Name()
	if !s.loggedIn.Swap(true) {
		s.host.clients.changeStrangers(false)
	}
	s.reader.Limits = s.inputLimits(s.host.Config())
	return nil
}

// User implements [command.Session].
func (s *session) User() string { return s.client.User }

// takeRequest counts a request against its user's cap and returns why it is refused.
func (s *Server) takeRequest(u *acl.User) error {
	perSecond := u.MaxRate()
	if perSecond == 0 {
		return nil
	}
	limit := engine.Limit{Algorithm: engine.TokenBucket, Capacity: perSecond, Rate: engine.Rate{Tokens: perSecond, Period: int64(time.Second)}}
	r := ask(s.guard.users, s.clock.Now(), engine.Op{Key: []byte("user " + u.Name()), Limit: limit, Tokens: 1})
	if r.Allowed || r.Status != engine.OK {
		return nil
	}
	s.refuse(overUserRate)
	return fmt.Errorf("LIMITED user %s makes more than %d requests a second; try again in %d ms", u.Name(), perSecond, (r.Wait+999_999)/1e6)
}

// Users implements [command.Server].
func (s *Server) Users() command.Users { return s.users }
