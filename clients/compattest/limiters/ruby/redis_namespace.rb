require "redis"
require "redis-namespace"
require_relative "serve"

redis = Redis::Namespace.new("limits", redis: Redis.new(url: URL))
script = File.read(File.join(__dir__, "../testdata/fixed_window.lua"))

serve("redis-namespace") do |key|
  -> { redis.eval(script, keys: [key], argv: [5, 2]) == 1 }
end
