package data_test

import "testing"

// The flag no-writes in a script's first line refuses commands that write, and without it _RO refuses the script, as in
// Redis 7.0.
func TestNoWrites(t *testing.T) {
	s := newDataStore(t)
	const refused = "ERR Write commands are not allowed from read-only scripts."
	set := "#!lua flags=no-writes\nreturn redis.call(\"set\",\"a\",\"1\")"
	for _, c := range []struct{ command, script, want string }{
		{"EVAL", "#!lua flags=no-writes\nreturn redis.pcall('set','a','1')", "-" + refused + "\r\n"},
		{"EVAL_RO", "#!lua flags=no-writes\nreturn redis.pcall('set','a','1')", "-" + refused + "\r\n"},
		{"EVAL", "#!lua flags=no-writes\nreturn redis.pcall('publish','a','1')", "-" + refused + "\r\n"},
		{"EVAL", "#!lua flags=allow-oom,no-writes\nreturn redis.call('get','a')", "$-1\r\n"},
		{"EVAL_RO", "#!lua flags=no-writes\nreturn redis.call('get','a')", "$-1\r\n"},
		{"EVAL_RO", "#!lua\nreturn 1", "-ERR Can not execute a script with write flag using *_ro command.\r\n"},
		{"EVAL_RO", "return 1", ":1\r\n"},
		{"EVAL", set, "-" + refused + " script: 86717419ceecb14f8b7a162ec7485f7d21d4ad13, on @user_script:2.\r\n"},
		{"EVAL", "#!lua\nreturn redis.call('set','a','1')", "+OK\r\n"}, // the flag is not another script's
		{"EVAL", "#!lua flags=allow-key-locking\nreturn 1", ":1\r\n"},
		{"SCRIPT", "#!lua flags=bogus\nreturn 1", "-ERR Unexpected flag in script shebang: bogus\r\n"},
	} {
		words := []string{c.script, "0"}
		if c.command == "SCRIPT" {
			words = []string{"LOAD", c.script}
		}
		if got := s.do(c.command, words...); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.command, c.script, got, c.want)
		}
	}
}
