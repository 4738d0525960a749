module member

go 1.26.0

require (
	github.com/IBM/sarama v1.61.1
	github.com/segmentio/kafka-go v0.4.51
	github.com/sirupsen/logrus v1.9.3
	github.com/twmb/franz-go v1.22.3
	go.uber.org/zap v1.27.0
	github.com/twmb/franz-go/plugin/kzap v1.1.2
)
