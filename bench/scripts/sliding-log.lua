-- A sliding log: the times of the latest requests, in a sorted set that never
-- has more members than the limit. A denied request counts too, so a client
-- that does not stop asking stays denied.
-- The arguments are the window in seconds, the limit and an id of the request,
-- because several requests may have the same time.
-- The reply says whether the request may pass, and how many more may.
local key = KEYS[1]
local window = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window * 1000000)
local count = redis.call('ZCARD', key)
if count >= limit then
  redis.call('ZREMRANGEBYRANK', key, 0, count - limit)
end
redis.call('ZADD', key, now, clock[1] .. clock[2] .. ':' .. ARGV[3])
redis.call('EXPIRE', key, window)
if count >= limit then
  return {0, 0}
end
return {1, limit - count - 1}
