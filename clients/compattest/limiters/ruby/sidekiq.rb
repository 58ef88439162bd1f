require "securerandom"
require "sidekiq"
require "sidekiq/launcher"
require_relative "serve"

Sidekiq.logger.level = Logger::WARN
Sidekiq.configure_server { |config| config.redis = { url: URL } }
Sidekiq.configure_client { |config| config.redis = { url: URL } }

# A job that limits, and leaves the outcome where its client waits for it.
class LimitedJob
  include Sidekiq::Job

  def perform(key, outcome)
    Sidekiq.redis do |redis|
      calls, = redis.multi do |transaction|
        transaction.incr(key)
        transaction.expire(key, 2)
      end
      redis.lpush(outcome, calls <= 5 ? "passed" : "denied")
      redis.expire(outcome, 60)
    end
  end
end

Sidekiq::Launcher.new(Sidekiq.options.merge(queues: ["default"], concurrency: 2)).run

serve("sidekiq", "Sidekiq") do |key|
  lambda do
    outcome = "outcome-#{SecureRandom.hex(8)}"
    LimitedJob.perform_async(key, outcome)
    Sidekiq.redis { |redis| redis.brpop(outcome, timeout: 30) }.last == "passed"
  end
end
