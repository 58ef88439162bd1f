// Package xds gets the rules of Envoy's rate limit service from a control plane, by the Aggregated Discovery Service
// (state of the world), as resources RateLimitConfig. If rules are refused, or the control plane is gone, the last
// valid rules stay in use.
package xds

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/rls"
)

// Options are the options of a client.
type Options struct {
	Address string // HOST:PORT of the control plane
	Node    string // this server's name for the control plane
	TLS     *Files // nil for no TLS
	Dir     string // directory for a file with the last valid rules; "" keeps none
	Log     *slog.Logger
	Changed func() // called after pushed rules came into use; may be nil

	// FirstRetry and LastRetry are the shortest and longest wait before another attempt; 0 is a second, and half a
	// minute.
	FirstRetry, LastRetry time.Duration
}

// Client follows a control plane.
type Client struct {
	rls.InUse
	Accepted  atomic.Int64 // pushes
	Connected atomic.Bool

	o       Options
	since   atomic.Int64 // when the rules in use were pushed, in nanoseconds; 0 for none
	refused [hashBytes]byte
}

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Open reads the kept rules and the TLS files. It returns an error if the TLS files are wrong. [Client.Run] connects.
func Open(o Options) (*Client, error) {
	if o.FirstRetry == 0 {
		o.FirstRetry, o.LastRetry = firstRetry, lastRetry
	}
	c := &Client{o: o}
	if _, err := o.TLS.config(); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		c.useKept()
	}
	return c, nil
}

// Has reports whether there are rules, pushed or kept.
func (c *Client) Has() bool { return c.since.Load() != 0 }

// Age is the time since the rules in use were pushed, 0 if there are none.
func (c *Client) Age(now time.Time) time.Duration {
	if since := c.since.Load(); since != 0 {
		return max(0, now.Sub(time.Unix(0, since)))
	}
	return 0
}

// Run follows the control plane until ctx ends. It connects again after errors.
func (c *Client) Run(ctx context.Context) {
	wait := pause{c.o.FirstRetry, c.o.LastRetry, 0}
	for ctx.Err() == nil {
		accepted := c.Accepted.Load()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if c.Accepted.Load() > accepted {
			wait.times = 0
		}
		again := wait.next()
		c.o.Log.Warn("cannot connect to the control plane of --rls-xds; the present rules stay in use", "address", c.o.Address, "error", err, "again_in", again)
		sleep(ctx, again)
	}
}

// pause is the wait between attempts. It doubles each time, with a random factor between a half and 1, so that many
// servers do not return at the same moment.
type pause struct {
	first, last time.Duration
	times       int
}

func (p *pause) next() time.Duration {
	d := p.last
	if p.times < 30 {
		d = min(p.last, p.first<<p.times)
	}
	p.times++
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// keptFile is the file with the last valid rules.
const keptFile = "rls-xds.rules"

func (c *Client) keptPath() string { return filepath.Join(c.o.Dir, keptFile) }

// useKept uses the rules in the file, if there are any.
func (c *Client) useKept() {
	kept, at, err := readKept(c.keptPath())
	if err == nil && kept != nil {
		var rules *rls.Rules
		if rules, err = rulesOf(kept.GetResources()); err == nil {
			c.Replace(rules)
			c.since.Store(at.UnixNano())
		}
	}
	if err != nil {
		c.o.Log.Warn("the saved rules of --rls-xds cannot be used", "file", c.keptPath(), "error", err)
	}
}
