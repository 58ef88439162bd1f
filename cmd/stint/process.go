package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// process has the environment of a command, so that tests can run commands without a process.
type process struct {
	program        string // as it was called
	environ        []string
	readFile       func(name string) ([]byte, error)
	stdout, stderr io.Writer
	signals        <-chan os.Signal       // that do not end the process
	beginNode      func(environ []string) // before a node of a cluster does anything; nil in tests

	addProcessors func(environ []string, cfg *config.Config) bool // before a server serves; nil in tests
}

// readRegularFile reads a file. It refuses others, such as pipes, from which a read could wait for ever.
func readRegularFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return os.ReadFile(name)
}

// variable is the value of an environment variable, "" if it is not set.
func (p *process) variable(name string) string {
	for _, v := range p.environ {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}
