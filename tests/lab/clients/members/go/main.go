// Consumers of franz-go (logs by zap), Sarama (by logrus) and kafka-go (by log): `member LIBRARY`.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/sirupsen/logrus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kzap"
	"go.uber.org/zap"
)

const (
	session   = 6 * time.Second
	heartbeat = 1500 * time.Millisecond
	rebalance = 8 * time.Second
)

var (
	brokers = []string{os.Getenv("BOOTSTRAP")}
	group   = os.Getenv("GROUP")
	topic   = os.Getenv("TOPIC")
	client  = os.Getenv("CLIENT")
)

func stall() {
	text, err := os.ReadFile(os.Getenv("STALL"))
	if err != nil {
		return
	}
	os.Remove(os.Getenv("STALL"))
	seconds, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	time.Sleep(time.Duration(seconds) * time.Second)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	map[string]func(context.Context){"franz-go": franz, "sarama": ofSarama, "kafka-go": kafkaGo}[os.Args[1]](ctx)
}

func franz(ctx context.Context) {
	logger, _ := zap.NewProduction()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID(client),
		kgo.SessionTimeout(session), kgo.HeartbeatInterval(heartbeat), kgo.RebalanceTimeout(rebalance), kgo.BlockRebalanceOnPoll(),
		kgo.WithLogger(kzap.New(logger)))
	if err != nil {
		log.Fatal(err)
	}
	for ctx.Err() == nil {
		consumer.PollFetches(ctx)
		stall()
		consumer.AllowRebalance()
	}
	consumer.Close()
}

type handler struct{}

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			stall()
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func ofSarama(ctx context.Context) {
	sarama.Logger = logrus.StandardLogger()
	config := sarama.NewConfig()
	config.ClientID = client
	config.Consumer.Group.Session.Timeout = session
	config.Consumer.Group.Heartbeat.Interval = heartbeat
	config.Consumer.Group.Rebalance.Timeout = rebalance
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	consumers, err := sarama.NewConsumerGroup(brokers, group, config)
	if err != nil {
		log.Fatal(err)
	}
	for ctx.Err() == nil {
		if err := consumers.Consume(ctx, []string{topic}, handler{}); err != nil {
			logrus.WithError(err).Error("Error from consumer")
		}
	}
	consumers.Close()
}

func kafkaGo(ctx context.Context) {
	logger := log.New(os.Stderr, "", log.LstdFlags)
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, GroupID: group, Topic: topic, SessionTimeout: session,
		Dialer:            &kafka.Dialer{ClientID: client, Timeout: 10 * time.Second},
		HeartbeatInterval: heartbeat, RebalanceTimeout: rebalance, StartOffset: kafka.FirstOffset, Logger: logger, ErrorLogger: logger})
	for ctx.Err() == nil {
		reader.ReadMessage(ctx)
		stall()
	}
	reader.Close()
}
