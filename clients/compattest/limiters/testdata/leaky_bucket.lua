-- A leaky bucket as a meter: a hash holds the level. The caller sends the time, in seconds with a fraction.
local capacity = tonumber(ARGV[1])
local leak_rate = tonumber(ARGV[2]) -- per second
local now = tonumber(ARGV[3])
local level = tonumber(redis.call('HGET', KEYS[1], 'level') or '0')
local last_leak = tonumber(redis.call('HGET', KEYS[1], 'last_leak') or now)

level = math.max(0, level - (now - last_leak) * leak_rate)
if level + 1 > capacity then
  return 0
end
redis.call('HSET', KEYS[1], 'level', level + 1, 'last_leak', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / leak_rate) + 1)
return 1
