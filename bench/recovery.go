package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"
)

const saveTimeout = 5 * time.Minute

// measureRecovery loads keys into a server, measures decisions with and without a snapshot being written, ends it, and
// starts another one in the same directory.
func measureRecovery(ctx context.Context, e Env, f Figures) error {
	dir, err := dataDir("stint-recovery")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := startStint(e.binary, "--dir", dir, "--snapshot-every", "0")
	inst, err := start(ctx, "stint-save", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if err := load(ctx, inst.Addr, diskServers("")[0].Commands[0], oncePerDay, firstKey(), e.Kept); err != nil {
		return diagnose(inst, err)
	}
	began := time.Now()
	if err := save(inst.Addr); err != nil {
		return diagnose(inst, err)
	}
	took := time.Since(began)
	f.add(onDisk, "", saveSeconds, took.Seconds())
	if err := measurePause(ctx, inst, took, f); err != nil {
		return diagnose(inst, err)
	}
	bytes, err := infoNumber(inst.Addr, "persistence", "snapshot_bytes")
	if err != nil {
		return err
	}
	kept, err := infoNumber(inst.Addr, "persistence", "snapshot_keys")
	if err != nil {
		return err
	}
	f.add(onDisk, "", snapshotBytes, bytes/kept)
	inst.Stop()

	inst, err = start(ctx, "stint-recovery", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	read, took, err := recoveredIn(inst.processes[0].log.lastLines())
	if err != nil {
		return err
	}
	if read < kept {
		return fmt.Errorf("%.0f of %.0f keys were recovered", read, kept)
	}
	f.add(onDisk, "", recoveryRate, read/took.Seconds())
	return nil
}

// save requests a snapshot and waits for it.
func save(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(saveTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(appendCommand(nil, "SAVE")); err != nil {
		return err
	}
	_, err = readReply(bufio.NewReader(conn))
	return err
}

var recoveredLine = regexp.MustCompile(`msg=recovered .*\bkeys=(\d+) .*\btook=(\S+)`)

// recoveredIn reads the number of recovered keys and the duration of the recovery from a server's log.
func recoveredIn(log string) (keys float64, took time.Duration, err error) {
	match := recoveredLine.FindStringSubmatch(log)
	if match == nil {
		return 0, 0, errors.New("the server's log has no line about recovery:\n" + log)
	}
	if keys, err = strconv.ParseFloat(match[1], 64); err != nil {
		return 0, 0, err
	}
	took, err = time.ParseDuration(match[2])
	return keys, took, err
}
