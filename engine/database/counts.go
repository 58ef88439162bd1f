package database

import "sync/atomic"

// Counts are the keys of each database but 0, whose keys are all others. They may be used from any goroutine.
type Counts struct{ keys [Most]atomic.Int64 }

// Add counts n more keys by a name, or fewer if n is below zero.
func (c *Counts) Add(name []byte, n int64) {
	if MayBeMarked(name) {
		c.add(name, n)
	}
}

//go:noinline // so that Add is inlined
func (c *Counts) add(name []byte, n int64) {
	if number, _ := Split(name); number != 0 {
		c.keys[number].Add(n)
	}
}

// Of is the number of keys in a database other than 0.
func (c *Counts) Of(number uint8) int { return int(c.keys[number].Load()) }

// Sum is the number of keys in all databases but 0.
func (c *Counts) Sum() (keys int) {
	for i := range c.keys {
		keys += c.Of(uint8(i))
	}
	return keys
}

// Last is the highest number of a database with keys.
func (c *Counts) Last() (number int) {
	for i := range c.keys {
		if c.Of(uint8(i)) > 0 {
			number = i
		}
	}
	return number
}
