// Package all fills the table of commands from the packages that have them. Whoever looks commands up imports it.
package all

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/command/ops"
)

func init() { command.Register(limiter.Rows(), data.Rows(), ops.Rows()) }
