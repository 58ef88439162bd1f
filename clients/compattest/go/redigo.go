package main

import (
	"errors"

	"github.com/gomodule/redigo/redis"
)

type redigo struct {
	redis.Conn
}

func connectRedigo(address string, _ int) (client, error) {
	c, err := redis.Dial("tcp", address, redis.DialClientName(clientName))
	return redigo{c}, err
}

func (c redigo) ping() (string, error) { return redis.String(c.Do("PING")) }

func (c redigo) info() (string, error) { return redis.String(c.Do("CLIENT", "INFO")) }

func (c redigo) do(args ...string) (any, error) { return c.Do(args[0], anys(args[1:])...) }

func (c redigo) pipeline(commands [][]string) []any {
	for _, command := range commands {
		if err := c.Send(command[0], anys(command[1:])...); err != nil {
			return []any{err}
		}
	}
	if err := c.Flush(); err != nil {
		return []any{err}
	}
	var replies []any
	for range commands {
		reply, err := c.Receive()
		if err != nil {
			reply = err
		}
		replies = append(replies, reply)
	}
	return replies
}

func (c redigo) transaction(commands [][]string) ([]any, error) {
	err := c.Send("MULTI")
	for _, command := range commands {
		err = errors.Join(err, c.Send(command[0], anys(command[1:])...))
	}
	replies, execErr := redis.Values(c.Do("EXEC"))
	return replies, errors.Join(err, execErr)
}

func (c redigo) del(key string) (int64, error) { return redis.Int64(c.Do("DEL", key)) }

func (c redigo) key(key string) (keyState, error) {
	exists, err1 := redis.Int64(c.Do("EXISTS", key))
	kind, err2 := redis.String(c.Do("TYPE", key))
	ttl, err3 := redis.Int64(c.Do("TTL", key))
	pttl, err4 := redis.Int64(c.Do("PTTL", key))
	return keyState{exists, kind, ttl, pttl}, errors.Join(err1, err2, err3, err4)
}

func (c redigo) isServerError(err error) bool {
	var replied redis.Error
	return errors.As(err, &replied)
}

func (c redigo) close() { c.Conn.Close() }
