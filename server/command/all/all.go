// Package all fills the table of commands from the packages that have them. Whoever looks commands up imports it.
package all

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/command/data/gcra"
	"github.com/stintdb/stint/server/command/data/hash"
	"github.com/stintdb/stint/server/command/data/key"
	"github.com/stintdb/stint/server/command/data/list"
	"github.com/stintdb/stint/server/command/data/set"
	"github.com/stintdb/stint/server/command/data/str"
	"github.com/stintdb/stint/server/command/data/stream"
	"github.com/stintdb/stint/server/command/data/zset"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/command/ops"
)

func init() {
	command.Register(limiter.Rows(),
		key.Rows(), str.Rows(), hash.Rows(), zset.Rows(), list.Rows(), set.Rows(), stream.Rows(), gcra.Rows(), data.Rows(),
		ops.Rows())
}
