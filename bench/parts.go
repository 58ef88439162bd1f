package main

import (
	"context"
	"slices"
	"time"
)

// A Part is the measurement behind one name of -only. To add one is to add a row to the table.
type Part struct {
	name    string
	of      string // a name that stands for several parts, whose targets have a table; may be empty
	named   bool   // takes minutes, so it is measured only by name
	measure func(ctx context.Context, e Env, f Figures) error
	tables  func(e Env, f Figures) []Table
	targets func(e Env) []Target
}

// An Env has the settings and programs of a measurement.
type Env struct {
	Settings
	Servers []Server // of the first tables
	binary  string   // of Stint
}

// The table of parts, in the order in which they are measured and printed. -only can also name some of the servers of
// the first.
var parts = []Part{
	{name: onlyServers, measure: measureServers, tables: serverTables, targets: serverTargets},
	{name: "scripts", measure: measureScripts, tables: scriptTables, targets: scriptTargets},
	{name: "persistence", measure: measureDisk, tables: diskTables, targets: diskTargets},
	{name: onlyCluster, measure: measureCluster, tables: clusterTables, targets: clusterTargets},
	{name: "groups-cost", of: allOfGroups, named: true, measure: measureGroups, tables: groupTables, targets: groupTargets},
	{name: "groups-replicas", of: allOfGroups, named: true, measure: measureReplicas, tables: replicaTables, targets: replicaTargets},
	{name: "groups-kill", of: allOfGroups, named: true, measure: measureKills, tables: killTables, targets: killTargets},
	{name: "groups-join", of: allOfGroups, named: true, measure: measureJoin, tables: joinTables, targets: joinTargets},
	{name: "groups-shared", of: allOfGroups, named: true, measure: measureShared, tables: sharedTables, targets: sharedTargets},
	{name: "groups-machines", of: allOfGroups, named: true, measure: measureMachines, tables: machineTables, targets: machineTargets},
	{name: "groups-spread", of: allOfGroups, named: true, measure: measureSpread, tables: spreadTables, targets: spreadTargets},
	{name: "reservations", measure: measureReservations, tables: reservationTables, targets: reservationTargets},
	{name: "doors", measure: measureDoors, tables: doorTables, targets: doorTargets},
	{name: "sidecar", named: true, measure: measureSidecar, tables: sidecarTables, targets: sidecarTargets},
	{name: "ahead", named: true, measure: besideOne.measure, tables: besideOne.tables, targets: besideOneTargets},
	{name: "links", named: true, measure: overSlowLinks.measure, tables: overSlowLinks.tables, targets: slowLinkTargets},
	{name: "bucket", named: true, measure: measureBucket, tables: bucketTables, targets: bucketTargets},
	{name: "market", named: true, measure: measureMarket, tables: marketTables, targets: marketTargets},
	{name: "many-keys", named: true, measure: measureManyKeys, tables: manyKeysTables, targets: manyKeysTargets},
	{name: "failover", named: true, measure: measureFailover, tables: failoverTables},
	{name: "failover-hot", named: true, measure: measureHotFailover, tables: hotFailoverTables},
}

const (
	onlyServers = "servers" // all of them
	onlyCluster = "cluster" // takes too long for -quick, unless it is named
	allOfGroups = "groups"
)

// partNames are the names for -only.
func partNames() (names []string) {
	for _, p := range parts {
		if p.of != "" && !slices.Contains(names, p.of) {
			names = append(names, p.of)
		}
		names = append(names, p.name)
	}
	return names
}

// isMeasured reports whether to measure a part.
func (p Part) isMeasured(e Env) bool {
	switch {
	case p.name == onlyServers:
		return len(e.Servers) > 0
	case len(e.Only) == 0:
		return !p.named && !(e.Quick && p.name == onlyCluster)
	}
	return slices.Contains(e.Only, p.name) || slices.Contains(e.Only, p.of)
}

// A Report is everything one run found.
type Report struct {
	Env
	Date      time.Time
	Machine   Machine
	OtherWork OtherWork          // of the whole run
	Figures   map[string]Figures // by Part.name, of those that were measured
}

// run measures the parts that the settings ask for.
func (r *Report) run(ctx context.Context) error {
	for _, p := range parts {
		if !p.isMeasured(r.Env) {
			continue
		}
		r.Figures[p.name] = Figures{}
		if err := p.measure(ctx, r.Env, r.Figures[p.name]); err != nil {
			return err
		}
	}
	return nil
}

// tables derives every table from the figures.
func (r *Report) tables() (all []Table) {
	for _, p := range parts {
		if f := r.Figures[p.name]; f != nil {
			all = append(all, p.tables(r.Env, f)...)
		}
	}
	if goals := r.outcomes(""); len(goals) > 0 {
		t := r.targetTable("Goals (Stint CL.THROTTLE, if nothing else is named)", goals, func(row []string) bool { return row[len(row)-1] != met })
		t.Others = "goals that were met"
		all = append(all, t)
	}
	if groups := r.outcomes(allOfGroups); len(groups) > 0 {
		all = append(all, r.targetTable("Goals of groups of keys", groups, func([]string) bool { return true }))
	}
	return all
}

// outcomes holds every target of the measured parts against the figures, of those with one name together.
func (r *Report) outcomes(of string) (all []Outcome) {
	for _, p := range parts {
		if f := r.Figures[p.name]; f != nil && p.targets != nil && p.of == of {
			for _, t := range p.targets(r.Env) {
				all = append(all, t.measured(f))
			}
		}
	}
	return all
}
