package algorithm

// grantable is the tokens of the capacity that the call may take, 0 or less if it keeps all of it back.
func (c *Call) grantable() int64 {
	if c.Op.Keep == 0 {
		return c.Limit.Capacity - c.Lent
	}
	return c.Limit.Capacity - c.Lent - c.Op.Keep.Of(c.Limit.Capacity)
}
