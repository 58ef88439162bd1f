-- GCRA: a string holds the theoretical arrival time, in seconds with a fraction. The time is the server's.
local burst = tonumber(ARGV[1])
local emission_interval = 1 / ARGV[2]
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
tat = math.max(tat, now)

local new_tat = tat + emission_interval
local allow_at = new_tat - burst * emission_interval
if now < allow_at then
  return { 0, tostring(allow_at - now) }
end
redis.call('SET', KEYS[1], string.format('%.6f', new_tat), 'EX', math.ceil(new_tat - now))
return { 1, '0' }
