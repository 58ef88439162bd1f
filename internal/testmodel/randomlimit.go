package testmodel

import (
	"strconv"
)

// limit is the words of a key's limit: the same as in its last call, or others.
func (c *Calls) limit(k *randomKey) []string {
	if k.words == nil || c.chance(12) {
		for k.words = nil; k.words == nil; { // only few of them are invalid
			if words := c.newLimit(k.form); k.form.valid(words) {
				k.words = words
			}
		}
	} else if c.chance(12) {
		return c.newLimit(k.form)
	}
	return k.words
}

func (f *form) valid(words []string) bool {
	_, err := f.limit(words)
	return err == nil
}

// newLimit is a random limit: an ordinary one, or one at the bounds.
func (c *Calls) newLimit(f *form) []string {
	most := strconv.Itoa(1 + c.random.IntN(12))
	if c.chance(4) {
		most = strconv.FormatInt(int64(c.logUniform(1, 1e12)), 10)
	} else if c.chance(20) {
		most = c.pick("1000000000000", "999999999999", "1000000000001", "100000", "100001", "0", "1")
	}
	switch f.algorithm {
	case balance:
		return []string{}
	case penalty:
		return []string{c.pick("1", "2", "2", "3", most), c.duration(8), c.pick("10s", "1m", c.duration(8))}
	case gcra:
		period := c.pick("1", "60", "3600", "7", "86400", "315360000", "1")
		return []string{most, c.pick("1", "2", "3", "30", "7", "1000000", "1000000000000"), period}
	case tokenBucket, leakyBucket, leakyQueue:
		return []string{most, c.rate()}
	case fixedWindow:
		return []string{most, c.pick("@", "@", "@minute", "@hour", "@day", "@week", "@month", "@quarter", "@year", "@Day", "", "", "") + c.duration(6)}
	}
	return []string{most, c.duration(8)}
}

// rate is a rate in one of the forms that people write.
func (c *Calls) rate() string {
	number := strconv.Itoa(1 + c.random.IntN(20))
	switch c.random.IntN(8) {
	case 0:
		number = c.pick("0.035", "1.5", "16.67", "0.1", "2.50", "1000000", "99.9", "33.3333", "0.000001", "16.666666666666668", "1428571.428571", "0.0000000000000000001", "1000000.000001",
			"1.1574074074074073e-05", "2.5e+1", "1E-3", "1e-19", "1e12", "1e13", "3e", "1e-4.5")
	case 1:
		number = strconv.FormatInt(int64(c.logUniform(1, 1e12)), 10)
	}
	if c.chance(3) {
		return number
	}
	if c.chance(10) {
		return number + c.pick(" per ", "/", " PER ") + c.pick("second", "5 minutes", "1.5 hours", "2days", "Hour", "10sec", "week", "0.7s", "0.3333333333333s", "0.0001s")
	}
	return number + "/" + c.pick("s", "m", "h", "d", "ms", "60", "S", "", "", "", "", "")
}

// duration is a random duration; one in odd of them is unusual.
func (c *Calls) duration(odd int) string {
	if c.chance(odd) {
		return c.pick("1ms", "3650d", "1.5m", "0.25h", "333ms", "7d", "31536000", "0.001", "12.345s", "61s", "2minutes", "1Hour", "1.5e1", "36e5ms", "2.5E-1h", "1e-05s", "1e9d")
	}
	return c.pick("1s", "10s", "60s", "1m", "250ms", "1h", "5", "1d", "2s")
}

// tokens is the number requested: mostly few.
func (c *Calls) tokens(few int) string {
	switch c.random.IntN(12) {
	case 0:
		return strconv.FormatInt(int64(c.logUniform(1, 1e12)), 10)
	case 1:
		return c.pick("1000000000000", "12", "13", "100")
	}
	return strconv.Itoa(1 + c.random.IntN(few))
}
