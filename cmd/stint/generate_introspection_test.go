//go:build e2e

package main

// introspectionFamily asks about commands, and reads replies in RESP3 from scripts.
var introspectionFamily = family{
	{"COMMAND", 2, []argument{oneOf(word("GETKEYS"), word("GETKEYSANDFLAGS")), anyCommand}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("HGET"), always("1"), anyKey, name}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("HGETALL"), always("1"), anyKey}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("SMEMBERS"), always("1"), anyKey}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("ZSCORE"), always("1"), anyKey, name}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("ZADD"), always("1"), anyKey, always("INCR"), score, name}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("ZRANGE"), always("1"), anyKey, always("0"), always("-1"), always("WITHSCORES")}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("ZPOPMIN"), always("1"), anyKey}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("LPOP"), always("1"), anyKey}, exact},
	{"EVAL", 2, []argument{scriptInRESP3("MGET"), always("1"), anyKey, name}, exact},
}

// anyCommand is another command on data, as it is usually written.
func anyCommand(g *generator) []string {
	r := g.rows[g.IntN(len(g.rows))]
	if r.name == "COMMAND" || r.name == "EVAL" {
		return []string{"GET", "s1"}
	}
	words := []string{r.name}
	for _, a := range r.args {
		words = append(words, a(g)...)
	}
	return words
}

func always(w string) argument { return func(*generator) []string { return []string{w} } }

// scriptInRESP3 is a script that calls a command after redis.setresp(3), and shows the types of all that it replies.
// The elements of maps and sets are sorted.
func scriptInRESP3(name string) argument {
	const show = `
local function show(v)
  if type(v) ~= 'table' then return type(v) .. ' ' .. tostring(v) end
  local t = {}
  for i, e in ipairs(v) do t[i] = i .. ' ' .. show(e) end
  for k, e in pairs(v) do
    if type(k) == 'string' and k ~= 'ignore_error_stats_update' then t[#t + 1] = k .. ' ' .. show(e) end
  end
  table.sort(t)
  return '{' .. table.concat(t, ', ') .. '}'
end
redis.setresp(3)
return show(redis.pcall(`
	return always(show + "'" + name + "', KEYS[1], unpack(ARGV)))")
}
