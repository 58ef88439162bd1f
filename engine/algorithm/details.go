package algorithm

import (
	"strconv"
	"time"
)

// Show answers a Look at a limiter, but for its bytes.
func (c *Call) Show() {
	alg := &Table[c.Prev.Algorithm]
	alg.Look(c)
	c.Result.Held, c.Result.Lent = c.Prev, c.Lent
	if alg.Detail != nil {
		alg.Detail(c)
	}
}

func detailShares(c *Call) {
	c.Result.AddDetail("members", strconv.Itoa(scanShares(c).active))
}

// detailClass tells of the class and of those registered under it.
func detailClass(c *Call) {
	s := &c.Class
	if s.Own > 0 {
		c.Result.AddDetail("assured_capacity", strconv.FormatInt(s.Assured.Capacity, 10))
		c.Result.AddDetail("assured_rate", s.Assured.Rate.String())
	}
	if s.alive > 0 {
		c.Result.AddDetail("classes", strconv.Itoa(s.alive))
		c.Result.AddDetail("assured_to_classes", strconv.FormatInt(s.Children, 10))
	}
}

func detailAdaptive(c *Call) {
	a := c.Adaptive(&c.Prev)
	c.Result.AddDetail("present_rate", string(a.PresentRate(&c.Prev).AppendPerSecond(nil)))
	if left := a.PausedUntil - c.Now; left > 0 {
		c.Result.AddDetail("pause_ms", strconv.FormatInt((left-1)/int64(time.Millisecond)+1, 10))
	}
}
