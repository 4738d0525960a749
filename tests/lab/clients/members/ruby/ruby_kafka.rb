# A consumer of ruby-kafka under Ruby's own Logger.
require "kafka"
require "logger"

$stdout.sync = true
stall = ENV.fetch("STALL")
kafka = Kafka.new([ENV.fetch("BOOTSTRAP")], client_id: ENV.fetch("CLIENT"), logger: Logger.new($stdout, level: Logger::INFO))
consumer = kafka.consumer(group_id: ENV.fetch("GROUP"), session_timeout: 6, heartbeat_interval: 1.5)
consumer.subscribe(ENV.fetch("TOPIC"))
trap("TERM") { consumer.stop }

consumer.each_message do
  next unless File.exist?(stall)
  seconds = File.read(stall).to_f
  File.delete(stall)
  sleep(seconds)
end
