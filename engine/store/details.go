package store

import (
	"strconv"
	"time"
)

// show answers a Look at a limiter, but for its bytes.
func (c *call) show() {
	alg := &algorithms[c.prev.Algorithm]
	alg.look(c)
	c.result.Held, c.result.Lent = c.prev, c.lent
	if alg.detail != nil {
		alg.detail(c)
	}
}

func detailShares(c *call) {
	c.result.AddDetail("members", strconv.Itoa(c.scanShares().active))
}

// detailClass tells of the class and of those registered under it.
func detailClass(c *call) {
	s := &c.class
	if s.own > 0 {
		c.result.AddDetail("assured_capacity", strconv.FormatInt(s.assured.Capacity, 10))
		c.result.AddDetail("assured_rate", s.assured.Rate.String())
	}
	if s.alive > 0 {
		c.result.AddDetail("classes", strconv.Itoa(s.alive))
		c.result.AddDetail("assured_to_classes", strconv.FormatInt(s.children, 10))
	}
}

func detailAdaptive(c *call) {
	a := c.adaptive(&c.prev)
	c.result.AddDetail("present_rate", string(a.presentRate(&c.prev).AppendPerSecond(nil)))
	if left := a.pausedUntil - c.now; left > 0 {
		c.result.AddDetail("pause_ms", strconv.FormatInt((left-1)/int64(time.Millisecond)+1, 10))
	}
}
