// Consumers of node-rdkafka, @confluentinc/kafka-javascript and kafkajs: `node members.js LIBRARY`.
const fs = require('fs')

const { BOOTSTRAP, GROUP, TOPIC, CLIENT, STALL } = process.env

function stallSeconds () {
  if (!fs.existsSync(STALL)) return 0
  const seconds = Number(fs.readFileSync(STALL, 'utf8'))
  fs.unlinkSync(STALL)
  return seconds
}

const stall = () => new Promise(resolve => setTimeout(resolve, stallSeconds() * 1000))

function nodeRdkafka () {
  const Kafka = require('node-rdkafka')
  const logger = require('pino')({ base: { pid: process.pid } })
  const consumer = new Kafka.KafkaConsumer({
    'group.id': GROUP,
    'client.id': CLIENT,
    'metadata.broker.list': BOOTSTRAP,
    'session.timeout.ms': 6000,
    'heartbeat.interval.ms': 1500,
    'max.poll.interval.ms': 8000,
    event_cb: true,
    log_level: 6,
    rebalance_cb: (error, assignment) => {
      if (error.code === Kafka.CODES.ERRORS.ERR__ASSIGN_PARTITIONS) consumer.assign(assignment)
      else consumer.unassign()
    }
  }, { 'auto.offset.reset': 'earliest' })
  consumer.on('event.log', log => logger.info({ fac: log.fac, severity: log.severity }, log.message))
  consumer.on('event.error', error => logger.error(error, 'Error from consumer'))
  consumer.on('rebalance', (error, assignment) => logger.info({ assignment }, error.message))
  consumer.on('ready', () => {
    consumer.subscribe([TOPIC])
    consumer.consume()
  })
  // A handler that takes its time, and the event loop with it.
  consumer.on('data', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallSeconds() * 1000))
  consumer.connect()
  process.on('SIGTERM', () => consumer.disconnect(() => process.exit(0)))
}

async function of (consumer, subscription) {
  process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0)))
  await consumer.connect()
  await consumer.subscribe(subscription)
  await consumer.run({ eachMessage: stall })
}

function confluent () {
  const { Kafka } = require('@confluentinc/kafka-javascript').KafkaJS
  const kafka = new Kafka({ kafkaJS: { clientId: CLIENT, brokers: [BOOTSTRAP] } })
  return of(kafka.consumer({
    kafkaJS: { groupId: GROUP, sessionTimeout: 6000, heartbeatInterval: 1500, rebalanceTimeout: 8000, fromBeginning: true }
  }), { topic: TOPIC })
}

function kafkajs () {
  const { Kafka } = require('kafkajs')
  const kafka = new Kafka({ clientId: CLIENT, brokers: [BOOTSTRAP] })
  return of(kafka.consumer({ groupId: GROUP, sessionTimeout: 6000, heartbeatInterval: 1500 }), { topic: TOPIC, fromBeginning: true })
}

({ 'node-rdkafka': nodeRdkafka, 'confluent-kafka-javascript': confluent, kafkajs })[process.argv[2]]()
