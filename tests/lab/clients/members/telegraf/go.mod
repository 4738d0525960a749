module lab

go 1.26

require github.com/influxdata/telegraf v1.37.2
