-- GCRA as it is commonly scripted for Redis: one key holding the theoretical
-- arrival time (tat) in microseconds, expired by its TTL when it is in the
-- past. The reply has the form of redis-cell's:
-- limited, limit, remaining, retry_after_s, reset_after_s.
local key = KEYS[1]
local burst = tonumber(ARGV[1])
local count = tonumber(ARGV[2])
local period = tonumber(ARGV[3])
local cost = tonumber(ARGV[4] or '1')

local interval = period * 1000000 / count
local limit = burst + 1
local tolerance = interval * limit

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local tat = tonumber(redis.call('GET', key) or now)
if tat < now then
  tat = now
end

local new_tat = tat + interval * cost
local early_by = new_tat - tolerance - now
if early_by > 0 then
  local remaining = math.floor((tolerance - (tat - now)) / interval)
  return {1, limit, remaining, math.ceil(early_by / 1000000), math.ceil((tat - now) / 1000000)}
end

redis.call('SET', key, string.format('%.0f', new_tat), 'PX', math.ceil((new_tat - now) / 1000))
local remaining = math.floor((tolerance - (new_tat - now)) / interval)
return {0, limit, remaining, -1, math.ceil((new_tat - now) / 1000000)}
