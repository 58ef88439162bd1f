package main

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"os/exec"
	"slices"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// A script is a limiter in Lua, as it is commonly written for Redis.
type script struct {
	file    string
	command Command         // runs it by EVALSHA
	goals   map[int]float64 // by pipeline: the CPU on one Stint, as a multiple of Redis's
}

// scripts are all of them. The first is also a row of the first tables.
var scripts = []script{
	{"gcra", Command{Name: "Lua GCRA", Tag: "lua", Template: "{burst} {count} {period}", Answer: answerThrottle},
		map[int]float64{1: 0.6, 16: 0.3, 64: 0.25}},
	{"token-bucket", Command{Name: "Lua token bucket", Tag: "tok", Template: "{capacity} {count} {period}", Answer: answerScript},
		map[int]float64{16: 0.32}},
	{"sliding-log", Command{Name: "Lua sliding log", Tag: "log", Template: "86400 100 " + randomSuffix, Answer: answerScript, FullKeys: 2000},
		map[int]float64{16: 0.4}},
	{"counter", Command{Name: "Lua counter", Tag: "cnt", Template: "{period} {capacity}", Answer: answerScript},
		map[int]float64{16: 0.6}},
}

// gcraScript is the text of the first script.
var gcraScript = scripts[0].text()

func (s script) text() string {
	text, err := scriptFiles.ReadFile("scripts/" + s.file + ".lua")
	if err != nil {
		panic(err) // every script of the table is embedded
	}
	return string(text)
}

// sha is the name by which EVALSHA knows the script.
func (s script) sha() string {
	sum := sha1.Sum([]byte(s.text()))
	return hex.EncodeToString(sum[:])
}

// evalsha is the command with its whole template.
func (s script) evalsha() Command {
	c := s.command
	c.Template = fmt.Sprintf("EVALSHA %s 1 {key} %s", s.sha(), c.Template)
	return c
}

// loadScripts makes the scripts known to the server at addr.
func loadScripts(addr string) error {
	for _, s := range scripts {
		reply, err := ask(addr, "SCRIPT", "LOAD", s.text())
		if err != nil {
			return fmt.Errorf("SCRIPT LOAD: %w", err)
		}
		if reply.text != s.sha() {
			return fmt.Errorf("SCRIPT LOAD answered %q, want %q", reply.text, s.sha())
		}
	}
	return nil
}

// scriptServers run every script: Redis, Valkey if it is installed, and Stint.
func scriptServers(e Env) []Server {
	all := besideCluster(e.binary)
	if _, err := exec.LookPath(valkeyProgram); err == nil {
		all = slices.Insert(all, 1, Server{Name: "valkey", Title: "Valkey", Start: startValkey})
	}
	for i := range all {
		all[i].Commands = scriptCommands()
	}
	return all
}

// logged is a CL.THROTTLE that is decided as scripts are, by an entry of the log: its keys are those of a strict policy.
// Other CL.THROTTLEs are mostly granted from tokens in the leader's memory.
var logged = Command{Name: "CL.THROTTLE of a STRICT policy", Tag: "str", Template: throttleTemplate, Answer: answerThrottle,
	Prepare: "RL.POLICY SET strict-{burst} CL str:{} {burst} {count} {period} STRICT"}

// scriptNodes are three nodes that run every script, and CL.THROTTLE to compare them with.
func scriptNodes(e Env) []Server {
	cluster := clusterServers(e)[2]
	start := cluster.Start
	cluster.Start = func(ctx context.Context, name string, env []string) (*Instance, error) {
		inst, err := start(ctx, name, env)
		if err != nil {
			return nil, err
		}
		return withScripts(inst)
	}
	cluster.Commands = append(slices.Concat(cluster.Commands, []Command{logged}), scriptCommands()...)
	return []Server{cluster}
}

func scriptCommands() (all []Command) {
	for _, s := range scripts {
		all = append(all, s.evalsha())
	}
	return all
}

// clusterLogged is the series of logged on three nodes.
var clusterLogged = "stint-cluster " + logged.Name

// nodesPipeline is the pipeline of the load on three nodes.
const nodesPipeline = 16

// measureScripts measures one server of each kind side by side, and then three nodes.
func measureScripts(ctx context.Context, e Env, f Figures) error {
	if err := measureScriptsOn(ctx, e, scriptServers(e), "scripts", cellsOf(pipelines, manyKeys), f); err != nil {
		return err
	}
	return measureScriptsOn(ctx, e, scriptNodes(e), "scripts on three nodes", cellsOf([]int{nodesPipeline}, manyKeys), f)
}

func measureScriptsOn(ctx context.Context, e Env, servers []Server, title string, cells []Cell, f Figures) error {
	s, stop, err := startSideBySide(ctx, e, servers, title, cells, f)
	if err != nil {
		return err
	}
	defer stop()
	s.before = func(ctx context.Context, inst *Instance, c Command, cell Cell, round int) error {
		if err := findLeader(ctx, inst); err != nil || c.FullKeys == 0 || round > 1 || cell.pipeline != cells[0].pipeline {
			return err
		}
		return fill(ctx, inst, c)
	}
	return s.run(ctx)
}

// fill sends enough requests that nearly every key has reached the limit of 100.
func fill(ctx context.Context, inst *Instance, c Command) error {
	_, err := drive(ctx, inst, connections, 16, 150*c.FullKeys, c.load(c.Tag+":"+randomSuffix, manyKeys.Limit))
	return err
}

func scriptTables(e Env, f Figures) []Table {
	all := Table{Title: "Scripts: server CPU per request, µs, and as a multiple of Redis's", Words: 2}
	for _, c := range scriptCommands() {
		var lines []line
		for _, s := range scriptServers(e) {
			lines = append(lines, line{[]string{c.Name, s.Title}, s.Name + " " + c.Name, manyKeys.Name})
		}
		var micros, ratios []column
		for _, p := range pipelines {
			micros = append(micros, column{header: fmt.Sprintf("P=%d", p), metrics: []string{cpu}, format: formatFigure, load: pipelineID(p)})
			ratios = append(ratios, column{header: fmt.Sprintf("ratio, P=%d", p), metrics: []string{cpu}, base: "redis " + c.Name, load: pipelineID(p)})
		}
		t := f.table("", "", []string{"script", "server"}, lines, append(micros, ratios...)...)
		all.Header, all.Rows = t.Header, append(all.Rows, t.Rows...)
	}
	all.Note = "Requests for 100k random keys are granted. Requests for the sliding log are denied, because each of its 2,000 keys already has 100 requests. A denied request counts too: it replaces the oldest."
	var lines []line
	for _, s := range seriesOf(scriptNodes(e)) {
		lines = append(lines, line{[]string{s.Command.Name}, s.ID(), manyKeys.Name})
	}
	onNodes := column{header: "CPU", metrics: []string{cpu}, format: formatFigure, load: pipelineID(nodesPipeline)}
	ratio := onNodes
	ratio.header, ratio.base = "vs "+logged.Name, clusterLogged
	nodes := f.table(fmt.Sprintf("Scripts on three nodes: CPU of all nodes per request, P=%d, µs", nodesPipeline), "", []string{"command"}, lines, onNodes, ratio)
	all.InDocs, nodes.InDocs = allRows, allRows
	return []Table{all, nodes}
}

func allRows([]string) bool { return true }

func scriptTargets(Env) (all []Target) {
	for _, s := range scripts {
		name := s.command.Name
		for _, p := range pipelines {
			if goal, ok := s.goals[p]; ok {
				all = append(all, compared("CPU of "+name+" vs Redis", cpu, Cell{manyKeys, p}, "stint "+name, "redis "+name, goal, true))
			}
		}
		all = append(all, compared("three nodes, CPU of "+name+" vs "+logged.Name, cpu, Cell{manyKeys, nodesPipeline},
			"stint-cluster "+name, clusterLogged, 1.3, true).because("each node runs the script"))
	}
	return all
}
