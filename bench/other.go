package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// otherFlags collects -other, which may be given several times.
type otherFlags []Server

func (o *otherFlags) String() string { return "" }

// Set implements flag.Value.
func (o *otherFlags) Set(text string) error {
	s, err := parseOther(text)
	if err != nil {
		return err
	}
	*o = append(*o, s)
	return nil
}

// parseOther reads name=host:port[@pid][,command template]. Without a
// template the server is asked CL.THROTTLE.
func parseOther(text string) (Server, error) {
	address, template, hasTemplate := strings.Cut(text, ",")
	name, address, ok := strings.Cut(address, "=")
	if !ok || name == "" {
		return Server{}, errors.New("want name=host:port[@pid][,command template]")
	}
	inst := &Instance{Addr: address}
	if addr, pidText, ok := strings.Cut(address, "@"); ok {
		pid, err := strconv.Atoi(pidText)
		if err != nil || pid < 1 {
			return Server{}, fmt.Errorf("%q is not a process id", pidText)
		}
		inst.Addr, inst.otherPID = addr, pid
	}
	if _, _, err := net.SplitHostPort(inst.Addr); err != nil {
		return Server{}, err
	}
	if !hasTemplate {
		template = throttleTemplate
	}
	c, err := otherCommand(template)
	if err != nil {
		return Server{}, err
	}
	return Server{
		Name: name, Title: name, Commands: []Command{c},
		Start: func(context.Context, string, []string) (*Instance, error) { return inst, nil },
	}, nil
}

// otherCommand turns a template into a table row. The form of a good reply is known for the commands here; the reply of
// any other must only not be an error.
func otherCommand(template string) (Command, error) {
	words := strings.Fields(template)
	if len(words) == 0 {
		return Command{}, errors.New("the command template is empty")
	}
	c := Command{Name: strings.ToUpper(words[0]), Template: template}
	if strings.Contains(template, "{key}") {
		c.Tag, c.Memory = "oth", true
	}
	switch c.Name {
	case "CL.THROTTLE":
		c.Answer = answerThrottle
	case "TB.ACQUIRE":
		c.Answer = answerAcquire
	case "PING":
		c.Answer = answerPong
	}
	return c, nil
}
