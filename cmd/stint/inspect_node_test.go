package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
)

func TestInspectNode(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"node.json": `{"node":"a","incarnation":"x1","crc32c":"78b31ade"}`, "votes-1.bolt": "12345", "votes-2.bolt": "1",
		"snapshots/2-18-1.stint": "STINTRSN",
		"snapshots/2-19-1.stint": "a snapshot, it seems", "log/log-00000000000000000001.stint": "12345",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs strings.Builder
	code := (&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", dir})
	for _, want := range []string{"the node a of a cluster (incarnation x1)", "votes-1.bolt: DAMAGED", "votes-2.bolt: DAMAGED",
		"log/log-00000000000000000001.stint: DAMAGED at offset 0", "snapshots/2-18-1.stint: DAMAGED: damaged: it has been cut short", "snapshots/2-19-1.stint: DAMAGED: damaged: it does not begin as a snapshot does"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if code != exitFailed || !strings.Contains(errs.String(), "5 of 6 files are damaged") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := entrylog.Open(disk.Dir(filepath.Join(dir, "log")), true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append([]entrylog.Entry{{Index: 7}, {Index: 8}}); err != nil {
		t.Fatal(err)
	}
	(&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", dir})
	(&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", filepath.Join(dir, "log", "log-00000000000000000001.stint")})
	for _, want := range []string{"log: its part of the Raft log, entries 7 to 8 in 1 file", "log-00000000000000000001.stint: whole; entries 7 to 8"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// A log of raft-boltdb is read, unless a server has it, and so are votes.
func TestInspectBoltLog(t *testing.T) {
	dir := t.TempDir()
	disk, err := raftstore.Open(dir, raftstore.BoltLog, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Incarnation("a"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(disk.Stable().SetUint64([]byte("CurrentTerm"), 2), disk.Logs().StoreLogs([]*raft.Log{{Index: 7, Term: 2, Type: raft.LogNoop}, {Index: 8, Term: 2, Type: raft.LogNoop}})); err != nil {
		t.Fatal(err)
	}
	inspect := func(wants ...string) {
		t.Helper()
		var out, errs strings.Builder
		(&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", dir})
		for _, want := range append(wants, "votes-1.bolt: its votes, in term 2", "votes-2.bolt: its votes, in term 2") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s%s", want, out.String(), errs.String())
			}
		}
	}
	inspect("log: not read: a running server uses it")
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	inspect("log: its part of the Raft log, entries 7 to 8 in 1 file")
	path := filepath.Join(dir, "log", "log.bolt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2 * 4096; i < len(data); i += 4096 {
		data[i+8] ^= 4 // the kind of the page
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	inspect("log/log.bolt: DAMAGED")
}

// The directories of a node's groups of keys are read, and their log with the entries of each group.
func TestInspectGroups(t *testing.T) {
	dir := t.TempDir()
	disk, err := raftstore.Open(dir, raftstore.OwnLog, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, err = disk.Incarnation("a")
	groups := raftstore.NewGroupDirs(dir, raftstore.OwnLog, slog.New(slog.DiscardHandler))
	for number := 1; number <= 2; number++ {
		d, openErr := groups.Open(number, true)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer d.Close()
		_, openErr = d.Incarnation("a")
		err = errors.Join(err, openErr)
		for index := range uint64(number * 3) {
			err = errors.Join(err, d.Logs().StoreLogs([]*raft.Log{{Index: index + 1, Term: 1, Type: raft.LogNoop}}))
		}
	}
	if err := errors.Join(err, disk.Close()); err != nil {
		t.Fatal(err)
	}
	inspect := func(wants ...string) {
		t.Helper()
		var out, errs strings.Builder
		code := (&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", dir})
		for _, want := range append(wants, "groups/log: the Raft log of its groups of keys, entries 1 to 3 of group 1, 1 to 6 of group 2 in 1 file") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("exit code %d; it does not say %q:\n%s%s", code, want, out.String(), errs.String())
			}
		}
	}
	inspect("groups/02/node.json: the directory of the node a", "groups/01/node.json: the directory of the node a", "groups/02/votes-1.bolt: ")
	second := filepath.Join(dir, "groups/02")
	if err := errors.Join(os.RemoveAll(second), os.CopyFS(second, os.DirFS(filepath.Join(dir, "groups/01")))); err != nil {
		t.Fatal(err)
	}
	inspect("groups/02: DAMAGED: " + second + " holds the state of group 1, not of group 2")
	if err := os.Remove(filepath.Join(dir, "groups/02/node.json")); err != nil {
		t.Fatal(err)
	}
	inspect("groups/01/node.json: the directory of the node a", "groups/02: DAMAGED: it has no node.json")
	if err := os.RemoveAll(filepath.Join(dir, "groups/01")); err != nil {
		t.Fatal(err)
	}
	inspect("groups/01: DAMAGED: it has no node.json")
	if disk, err = raftstore.Open(dir, raftstore.OwnLog, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(disk.Stable().Set([]byte("stint/groups"), []byte(`{"groups":2,"version":1,"here":{"2":"a#0"}}`)), disk.Close()); err != nil {
		t.Fatal(err)
	}
	inspect("groups/02: DAMAGED: it has no node.json")
	if out := inspected(t, dir); strings.Contains(out, "groups/01") {
		t.Errorf("group 1 has no replica here:\n%s", out)
	}
}

// inspected is the output of stint inspect.
func inspected(t *testing.T, dir string) string {
	t.Helper()
	var out, errs strings.Builder
	(&process{stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", dir})
	return out.String()
}
