-- Two counters of fixed windows: the last one counts in proportion to its part of the sliding window. The caller sends the
-- time, in seconds with a fraction.
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local now = tonumber(ARGV[3])
local current_window = math.floor(now / window)
local current_key = KEYS[1] .. ':' .. current_window
local previous_key = KEYS[1] .. ':' .. (current_window - 1)

local current = tonumber(redis.call('GET', current_key) or '0')
local previous = tonumber(redis.call('GET', previous_key) or '0')
local weight = 1 - (now % window) / window
if previous * weight + current >= limit then
  return 0
end
redis.call('INCR', current_key)
redis.call('EXPIRE', current_key, window * 2)
return 1
