require "active_support"
require "rack/attack"
require "rack/mock"
require "redis-store"
require_relative "serve"

Rack::Attack.cache.store =
  case VARIATION
  when "Redis" then Redis.new(url: URL)
  when "Redis::Store" then Redis::Store.new(url: URL)
  when "RedisCacheStore" then ActiveSupport::Cache::RedisCacheStore.new(url: URL)
  end
Rack::Attack.throttle("calls", limit: 5, period: 2) { |request| request.params["key"] }
client = Rack::MockRequest.new(Rack::Attack.new(->(_environment) { [200, {}, ["page"]] }))

serve("rack-attack") do |key|
  lambda do
    response = client.get("/?key=#{key}")
    raise "HTTP #{response.status}: #{response.body}" unless [200, 429].include?(response.status)

    response.status == 200
  end
end
