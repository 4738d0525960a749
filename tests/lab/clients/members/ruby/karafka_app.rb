# A server of Karafka with the logging of its template: its LoggerListener under Ruby's own Logger.
require "karafka"

class OrdersConsumer < Karafka::BaseConsumer
  def consume
    messages.each { stall }
  end

  private

  # Several workers see the file; one of them takes it.
  def stall
    seconds = File.read(ENV.fetch("STALL")).to_f
    File.delete(ENV.fetch("STALL"))
    sleep(seconds)
  rescue Errno::ENOENT
    nil
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

  monitor.subscribe(Karafka::Instrumentation::LoggerListener.new)

  routes.draw do
    topic(ENV.fetch("TOPIC")) { consumer OrdersConsumer }
  end
end
