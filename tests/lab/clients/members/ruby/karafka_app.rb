# A server of Karafka with the logging of its template: its LoggerListener under Ruby's own Logger.
require "karafka"

class OrdersConsumer < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      next unless File.exist?(ENV.fetch("STALL"))
      seconds = File.read(ENV.fetch("STALL")).to_f
      File.delete(ENV.fetch("STALL"))
      sleep(seconds)
    end
  end
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.client_id = ENV.fetch("CLIENT")
    config.group_id = ENV.fetch("GROUP")
    config.concurrency = 2
    config.kafka = {
      "bootstrap.servers": ENV.fetch("BOOTSTRAP"),
      "session.timeout.ms": 6_000,
      "heartbeat.interval.ms": 1_500,
      "max.poll.interval.ms": 8_000,
      "auto.offset.reset": "earliest"
    }
  end

  monitor.subscribe(Karafka::Instrumentation::LoggerListener.new(log_polling: false))

  routes.draw do
    topic(ENV.fetch("TOPIC")) { consumer OrdersConsumer }
  end
end
