-- A token bucket in a hash. The time is the server's, in milliseconds.
redis.replicate_commands()
local capacity = tonumber(ARGV[1])
local per_ms = tonumber(ARGV[2]) / 1000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state = redis.call('HMGET', KEYS[1], 'tokens', 'ts')
local tokens = tonumber(state[1])
if tokens == nil then
  tokens = capacity
else
  tokens = math.min(capacity, tokens + (now - tonumber(state[2])) * per_ms)
end
if tokens < 1 then
  redis.call('HMSET', KEYS[1], 'tokens', tostring(tokens), 'ts', now)
  redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / per_ms))
  return { 0, tostring(tokens), math.ceil((1 - tokens) / per_ms) }
end
tokens = tokens - 1
redis.call('HMSET', KEYS[1], 'tokens', tostring(tokens), 'ts', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / per_ms))
return { 1, tostring(tokens), 0 }
