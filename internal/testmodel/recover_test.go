package testmodel

import "testing"

// After a crash a policy's key, which no call names, continues from a state that it had.
func TestRecoverKeyOfPolicy(t *testing.T) {
	policy := []string{"RL.POLICY", "SET", "p", "SW", "of:{}", "10", "1d"}
	check := func(tokens string) []string { return []string{"RL.CHECK", "p", "alice", tokens} }
	tests := []struct {
		lost    []string // of the server's calls, the one in place of the model's two
		isKnown bool
	}{
		{check("0"), true}, {check("1"), true}, {check("4"), true}, {check("3"), false},
	}
	for _, test := range tests {
		c := NewCalls(1, 1)
		server := New(c.Model.Now)
		for _, m := range []*Model{server, c.Model} {
			m.Do(policy...)
		}
		c.Certain()
		c.Model.Do(check("1")...)
		c.Model.Do(check("3")...)
		server.Do(test.lost...)
		unclear, err := c.Recover(func(command ...string) (string, error) { return server.Do(command...), nil })
		if len(unclear) > 0 || (err == nil) != test.isKnown {
			t.Fatalf("%q: recovered with %v, unclear %q", test.lost, err, unclear)
		}
		if err != nil {
			continue
		}
		if got, want := c.Model.Do(check("1")...), server.Do(check("1")...); got != want {
			t.Errorf("after a crash that left %q: %q, the server says %q", test.lost, got, want)
		}
	}
}
