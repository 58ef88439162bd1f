package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseOther(t *testing.T) {
	for _, step := range []struct {
		text    string
		name    string
		addr    string
		pid     int
		command Command
		wantErr string
	}{
		{"redis-cell=127.0.0.1:7000", "redis-cell", "127.0.0.1:7000", 0,
			Command{Name: "CL.THROTTLE", Tag: "oth", Template: throttleTemplate, Answer: answerThrottle, Memory: true}, ""},
		{"cell=[::1]:7000@123,cl.throttle {key} 1 2 3", "cell", "[::1]:7000", 123,
			Command{Name: "CL.THROTTLE", Tag: "oth", Template: "cl.throttle {key} 1 2 3", Answer: answerThrottle, Memory: true}, ""},
		{"valkey=h:1,PING", "valkey", "h:1", 0, Command{Name: "PING", Tag: "", Template: "PING", Answer: answerPong, Memory: false}, ""},
		{"r=h:1,FCALL f 1 {key} a,b", "r", "h:1", 0, Command{Name: "FCALL", Tag: "oth", Template: "FCALL f 1 {key} a,b", Answer: answerAny, Memory: true}, ""},
		{"127.0.0.1:7000", "", "", 0, Command{}, "want name=host:port"},
		{"x=127.0.0.1", "", "", 0, Command{}, "missing port"},
		{"x=h:1@me", "", "", 0, Command{}, "not a process id"},
		{"x=h:1,", "", "", 0, Command{}, "template is empty"},
	} {
		t.Run(step.text, func(t *testing.T) {
			got, err := parseOther(step.text)
			wantError(t, err, step.wantErr)
			if err != nil {
				return
			}
			inst, _ := got.Start(t.Context(), "", nil)
			if got.Name != step.name || inst.Addr != step.addr || inst.otherPID != step.pid || got.Commands[0] != step.command {
				t.Errorf("got %+v at %+v", got, inst)
			}
		})
	}
}

func TestParseSettings(t *testing.T) {
	for _, step := range []struct{ args, wantErr string }{
		{"", ""},
		{"-quick -docs", ""},
		{"-rounds 2", "-rounds"},
		{"-generators 0", "-generators"},
		{"-generators 51", "-generators"},
		{"-cell 1ms", "-cell"},
		{"-keys 10", "-keys"},
		{"-kept-keys 10", "-kept-keys"},
		{"-docs -only cluster", ""},
		{"-only persistence", ""},
		{"-other x", "want name=host:port"},
		{"-other x=h:1,CL.THROTTLE {key}", "{key}"}, // quotes forgotten
	} {
		_, err := parseSettings(strings.Fields(step.args), io.Discard)
		wantError(t, err, step.wantErr)
	}
	quick, err := parseSettings([]string{"-quick", "-keys", "5000"}, io.Discard)
	wantError(t, err, "")
	if quick.Keys != 5000 || quick.Kept != 200_000 || quick.Cell != 200*time.Millisecond {
		t.Errorf("-quick -keys 5000 gave %+v: a flag that is given wins", quick)
	}
}

func TestPick(t *testing.T) {
	names := func(servers []Server) (all []string) {
		for _, s := range servers {
			all = append(all, s.Name)
		}
		return all
	}
	other := Server{Name: "other"}
	all, err := Settings{Others: []Server{other}}.pick(serverTable("x"))
	wantError(t, err, "")
	if want := []string{"redis", "stint", "stint-one-loop", "stint-two-loops", "other"}; !slices.Equal(names(all), want) {
		t.Errorf("got %v, want %v", names(all), want)
	}
	some, err := Settings{Others: []Server{other}, Only: []string{"redis", "other"}}.pick(serverTable("x"))
	wantError(t, err, "")
	if want := []string{"redis", "other"}; !slices.Equal(names(some), want) {
		t.Errorf("got %v, want %v", names(some), want)
	}
	_, err = Settings{Only: []string{"radish"}}.pick(serverTable("x"))
	wantError(t, err, "radish")
	_, err = Settings{Others: []Server{{Name: "stint"}}}.pick(serverTable("x"))
	wantError(t, err, "two servers")
}

// Commands without a key or a limit run in the first workload only.
func TestRunsIn(t *testing.T) {
	for _, c := range []Command{setCommand, incrCommand, {Template: "PING"}} {
		if s := (Series{Command: c}); !s.runsIn(manyKeys) || s.runsIn(hotKey) {
			t.Errorf("%s runs in %s: %t, in %s: %t", c.Template, manyKeys.Name, s.runsIn(manyKeys), hotKey.Name, s.runsIn(hotKey))
		}
	}
	if s := (Series{Command: serverTable("x")[1].Commands[0]}); !s.runsIn(manyKeys) || !s.runsIn(hotKey) {
		t.Error("CL.THROTTLE does not run everywhere")
	}
}

func TestExpand(t *testing.T) {
	got := expand("TB.ACQUIRE {key} {capacity} {rate}", "tba:1", oncePerDay)
	if want := []string{"TB.ACQUIRE", "tba:1", "1", "1/86400s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = expand(throttleTemplate, "k", Limit{Burst: 15, Count: 30, PeriodSeconds: 60})
	if want := []string{"CL.THROTTLE", "k", "15", "30", "60"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeysAre16Bytes(t *testing.T) {
	for _, s := range seriesOf(serverTable("x")) {
		if !s.Command.Keyed() {
			continue
		}
		if key := memoryKey(s.Command, 42); len(key) != 16 {
			t.Errorf("%s: key %q has %d bytes", s.ID(), key, len(key))
		}
		for _, w := range workloads {
			// redis-benchmark puts 12 digits in place of 12 letters.
			if key := s.Command.Tag + ":" + w.KeySuffix(7, 64); len(key) != 16 {
				t.Errorf("%s: key %q has %d bytes", w.Name, key, len(key))
			}
		}
	}
}

func TestAnswerCheck(t *testing.T) {
	five := func(first int64) reply { return reply{integers: []int64{first, 1, 0, 0, 0}} }
	for _, step := range []struct {
		a       answer
		r       reply
		granted bool
		wantErr string
	}{
		{answerPong, reply{text: "PONG"}, true, ""},
		{answerPong, reply{text: "LOADING"}, true, "want PONG"},
		{answerThrottle, five(0), true, ""},
		{answerThrottle, five(1), true, "granted is false"},
		{answerThrottle, five(1), false, ""},
		{answerAcquire, five(1), true, ""},
		{answerAcquire, five(0), true, "granted is false"},
		{answerAcquire, five(2), true, "should be 0 or 1"},
		{answerThrottle, reply{integers: []int64{0}}, true, "want 5"},
		{answerAny, reply{text: "OK"}, false, ""},
		{answerOK, reply{text: "OK"}, true, ""},
		{answerOK, reply{text: "QUEUED"}, true, "want OK"},
		{answerCount, reply{integers: []int64{7}}, true, ""},
		{answerCount, reply{integers: []int64{0}}, true, "above 0"},
	} {
		wantError(t, step.a.check(step.r, step.granted), step.wantErr)
	}
}
