package store

// grantable is the tokens of the capacity that the call may take, 0 or less if it keeps all of it back.
func (c *call) grantable() int64 {
	if c.op.Keep == 0 {
		return c.limit.Capacity - c.lent
	}
	return c.limit.Capacity - c.lent - c.op.Keep.Of(c.limit.Capacity)
}
