// Names the module, so that its command is built from here.
package main

import _ "github.com/influxdata/telegraf"

func main() {}
