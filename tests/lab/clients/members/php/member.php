<?php
// A consumer of php-rdkafka, which leaves logging to librdkafka, with its groups' debug output as its README has it.
$stall = getenv('STALL');
$conf = new RdKafka\Conf();
$conf->set('bootstrap.servers', getenv('BOOTSTRAP'));
$conf->set('group.id', getenv('GROUP'));
$conf->set('client.id', getenv('CLIENT'));
$conf->set('session.timeout.ms', '6000');
$conf->set('heartbeat.interval.ms', '1500');
$conf->set('max.poll.interval.ms', '8000');
$conf->set('auto.offset.reset', 'earliest');
$conf->set('log_level', (string) LOG_DEBUG);
$conf->set('debug', 'cgrp');

$ended = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$ended) {
    $ended = true;
});

$consumer = new RdKafka\KafkaConsumer($conf);
$consumer->subscribe([getenv('TOPIC')]);
while (!$ended) {
    $message = $consumer->consume(200);
    if ($message->err === RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (file_exists($stall)) {
            $seconds = (int) file_get_contents($stall);
            unlink($stall);
            sleep($seconds);
        }
    } elseif ($message->err !== RD_KAFKA_RESP_ERR__TIMED_OUT && $message->err !== RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        error_log($message->errstr());
    }
}
$consumer->close();
