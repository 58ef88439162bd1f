-- A fixed window: a counter that expires.
-- The arguments are the window in seconds and the limit.
-- The reply says whether the request may pass.
local count = redis.call('INCR', KEYS[1])
if count == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
end
if count > tonumber(ARGV[2]) then
  return 0
end
return 1
