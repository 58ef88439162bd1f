// Package homepolicies keeps policies of the home cluster in a server as they are there.
package homepolicies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/policyset"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/upstream"
)

// Follower follows the policies of home. While home does not answer, the policies stay as they are.
type Follower struct {
	Patterns []string         // of package glob: the names of the policies
	Home     upstream.Options // how to connect
	Leads    func() bool      // only then this server changes policies
	Log      *slog.Logger

	conn  net.Conn // nil while there is none
	next  int      // address
	equal string   // versions, of home's policies and of this server's, that have nothing to take over

	failed  string // versions of which not all could be taken over
	failure error  // why
	again   time.Time
}

const (
	every = 2 * time.Second // the time between two looks at the policies of home

	// restShare bounds the work for policies that could not be taken over: they are tried again after this many times the
	// time that it took, at most longestRest, or when policies have changed.
	restShare   = 50
	longestRest = time.Minute
)

// Follow looks at the policies of home until ctx ends.
func (f *Follower) Follow(ctx context.Context, s *server.Server) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for failure := ""; ; {
		if f.Leads() {
			err := f.update(ctx, s)
			if err == nil {
				failure = ""
			} else if err.Error() != failure && ctx.Err() == nil {
				failure = err.Error()
				f.Log.Error("could not copy the policies of the home cluster; this server keeps its present policies", "error", err)
			}
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			f.close()
			return
		}
	}
}

func (f *Follower) close() {
	if f.conn != nil {
		f.conn.Close()
	}
	f.conn = nil
}

// update makes the policies of the server those of home, but for those that the server refuses, which the error names.
// Policies with other names stay.
func (f *Follower) update(ctx context.Context, s *server.Server) error {
	version, err := f.versionAtHome(ctx)
	if err != nil {
		f.close()
		return err
	}
	versions, began := fmt.Sprintf("%s %x", version, s.Keys().PoliciesSum()), time.Now()
	switch {
	case version == "":
	case f.equal == versions:
		return nil
	case f.failed == versions && began.Before(f.again):
		return f.failure
	}
	have, err := policyset.Of(s)
	if err != nil {
		return err
	}
	there, err := f.read(ctx)
	if err != nil {
		f.close()
		return err
	}
	if err = f.takeOver(ctx, s, versions, have, there); err == nil {
		versions = ""
	}
	f.failed, f.failure, f.again = versions, err, time.Now().Add(min(restShare*time.Since(began), longestRest))
	return err
}

// takeOver makes the policies of the server those that are at home.
func (f *Follower) takeOver(ctx context.Context, s *server.Server, versions string, have, there policyset.Set) error {
	want := policyset.Set{}
	for name, p := range have {
		if !f.isOfHome(name) {
			want[name] = p
		}
	}
	maps.Copy(want, there)
	if want.Version() == have.Version() {
		f.equal = versions
		return nil
	}
	_, changes, err := policyset.Apply(ctx, s, server.FromSettings, want, true, have.Version())
	if err == nil && len(changes) > 0 {
		f.Log.Info("took over policies of the home cluster", "changes", len(changes))
	}
	if err == nil || errors.Is(err, policyset.ErrChanged) || ctx.Err() != nil {
		return err
	}
	return applyEach(ctx, s, have, want)
}

// applyEach applies the policies that differ one by one.
func applyEach(ctx context.Context, s *server.Server, have, want policyset.Set) (err error) {
	names := maps.Clone(have)
	maps.Copy(names, want)
	now := maps.Clone(have)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		next := maps.Clone(now)
		delete(next, name)
		if p, isWanted := want[name]; isWanted {
			next[name] = p
		}
		if next.Version() == now.Version() {
			continue
		}
		if _, _, refused := policyset.Apply(ctx, s, server.FromSettings, next, true, now.Version()); refused != nil {
			err = errors.Join(err, fmt.Errorf("policy %q: %w", name, refused))
		} else {
			now = next
		}
	}
	return err
}

func (f *Follower) isOfHome(name string) bool {
	return slices.ContainsFunc(f.Patterns, func(pattern string) bool { return glob.Match(pattern, name) })
}

// versionAtHome returns the version of home's policies, "" from a home that does not know it.
func (f *Follower) versionAtHome(ctx context.Context) (string, error) {
	if err := f.connect(ctx); err != nil {
		return "", err
	}
	reply, err := f.do(ctx, "RL.POLICY", "VERSION")
	if reply.Type == redcon.Error {
		return "", nil
	}
	return reply.String(), err
}

// read returns the policies of home.
func (f *Follower) read(ctx context.Context) (policyset.Set, error) {
	names, err := f.do(ctx, "RL.POLICY", "LIST")
	if err != nil {
		return nil, err
	}
	set := policyset.Set{}
	for _, name := range textsOf(names) {
		if !f.isOfHome(name) {
			continue
		}
		p, err := f.readOne(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(p.Limits) > 0 { // otherwise it was deleted a moment ago
			set[name] = p
		}
	}
	return set, nil
}

func (f *Follower) readOne(ctx context.Context, name string) (p policyset.Policy, err error) {
	reply, err := f.do(ctx, "RL.POLICY", "GET", name)
	if err != nil {
		return p, err
	}
	fields := resp.Elements(reply)
	overrides := int64(0)
	for ; len(fields) >= 2; fields = fields[2:] {
		switch value := fields[1]; fields[0].String() {
		case "limits":
			p.Limits = textsOf(value)
		case "overrides":
			overrides = value.Int()
		case "shadow":
			p.Shadow = value.Int() == 1
		case "strict":
			p.Strict = value.Int() == 1
		}
	}
	for from, more := "", overrides > 0; more; {
		if reply, err = f.do(ctx, "RL.POLICY", "OVERRIDES", name, "FROM", from, "COUNT", "1000"); err != nil {
			return p, err
		}
		page := resp.Elements(reply)
		if len(page) != 2 {
			return p, errReply
		}
		if p.Overrides == nil {
			p.Overrides = map[string][]string{}
		}
		for _, one := range resp.Elements(page[1]) {
			if pair := resp.Elements(one); len(pair) == 2 {
				p.Overrides[pair[0].String()] = textsOf(pair[1])
			}
		}
		from = page[0].String()
		more = len(page[0].Data) > 0
	}
	return p, nil
}

// connect connects to the next address, unless there is a connection.
func (f *Follower) connect(ctx context.Context) error {
	if f.conn != nil {
		return nil
	}
	address := f.Home.Addresses[f.next%len(f.Home.Addresses)]
	f.next++
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	conn, err := f.Home.Dial(ctx, address)
	if err != nil {
		return err
	}
	f.conn = conn
	if words := f.Home.Login(); words != nil {
		_, err = f.do(ctx, words...)
	}
	return err
}

// Bounds of a reply of home.
const (
	replyWithin = 5 * time.Second
	maxReply    = 64 << 20
)

var errReply = errors.New("the home cluster sent a reply that does not fit the request")

// do sends a command to home and returns the reply. It ends with ctx.
func (f *Follower) do(ctx context.Context, words ...string) (reply redcon.RESP, err error) {
	out := redcon.AppendArray(nil, len(words))
	for _, w := range words {
		out = redcon.AppendBulkString(out, w)
	}
	conn := f.conn
	_ = conn.SetDeadline(time.Now().Add(replyWithin))
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if _, err := conn.Write(out); err != nil {
		return reply, err
	}
	in, chunk := []byte(nil), make([]byte, 64<<10)
	for len(in) < maxReply {
		n, err := conn.Read(chunk)
		if err != nil {
			return reply, err
		}
		in = append(in, chunk[:n]...)
		if used, reply := redcon.ReadNextRESP(in); used > 0 {
			if reply.Type == redcon.Error {
				return reply, fmt.Errorf("%s: %.200s", words[0], reply.String())
			}
			return reply, nil
		}
	}
	return reply, errReply
}

func textsOf(array redcon.RESP) (all []string) {
	for _, one := range resp.Elements(array) {
		all = append(all, one.String())
	}
	return all
}
