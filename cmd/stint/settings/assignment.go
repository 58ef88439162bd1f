package settings

import (
	"errors"

	"github.com/stintdb/stint/server/config"
)

// assignment is one value for one setting and where it came from.
type assignment struct {
	setting *config.Setting
	text    string
	from    string // a flag, an environment variable, or a file and line; errors begin with it
}

// fileNamed returns the configuration file that a source names last, or "".
func fileNamed(source []assignment) string {
	name := ""
	for _, a := range source {
		if !a.setting.InFile() {
			name = a.text
		}
	}
	return name
}

// assign sets the values of one source, in order.
func assign(cfg *config.Config, source []assignment) error {
	for _, a := range source {
		err := a.setting.Set(cfg, a.text)
		if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
			invalid.Name = a.from
		}
		if err != nil {
			return err
		}
	}
	return nil
}
