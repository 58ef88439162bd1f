-- A token bucket in a hash. The caller sends the time, in seconds.
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'last_refill')
local capacity = tonumber(ARGV[1])
local refill_rate = tonumber(ARGV[2]) -- tokens per second
local now = tonumber(ARGV[3])
local requested = tonumber(ARGV[4])
local tokens = tonumber(bucket[1]) or capacity
local last_refill = tonumber(bucket[2]) or now

tokens = math.min(capacity, tokens + math.max(0, now - last_refill) * refill_rate)
local allowed = tokens >= requested
if allowed then
  tokens = tokens - requested
end
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'last_refill', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / refill_rate) * 2)
return { allowed and 1 or 0, math.floor(tokens) }
