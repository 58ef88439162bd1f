require "redis"
require_relative "serve"

redis = Redis.new(url: URL)

# A log in a sorted set, in a transaction.
serve("redis", "redis-rb") do |key|
  lambda do
    now = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)
    _, calls = redis.multi do |transaction|
      transaction.zremrangebyscore(key, "-inf", now - 2_000_000)
      transaction.zcard(key)
      transaction.zadd(key, now, "#{now}-#{Process.pid}")
      transaction.expire(key, 2)
    end
    calls < 5
  end
end
