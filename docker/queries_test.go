package docker

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// ofPrometheus are the labels Prometheus adds to every series.
var ofPrometheus = map[string]bool{"instance": true, "job": true}

// Every query of the dashboard and of the alerts is one Prometheus reads, about series and labels there are.
func TestQueries(t *testing.T) {
	all := scrapeServers(t)
	queries := append(dashboardQueries(t), alertQueries(t)...)
	if len(queries) < 40 {
		t.Errorf("only %d queries", len(queries))
	}
	asked := map[string]bool{}
	for _, q := range queries {
		checkQuery(t, all, q, asked)
	}
	for _, name := range []string{"stint_decisions_total", "stint_top_denied", "stint_policy_decisions_total", "stint_raft_state", "stint_persistence_ok"} {
		if !asked[name] {
			t.Errorf("nothing asks for %s", name)
		}
	}
}

// A query about what there is not is found out.
func TestWrongQueriesAreFound(t *testing.T) {
	all := exported{"stint_decisions_total": {"outcome": {"granted": true}}}
	for _, q := range []string{"rate(stint_decisions_total[", "stint_decision_total", `stint_decisions_total{outcom="granted"}`, `stint_decisions_total{outcome="grnted"}`, "sum by (policy) (stint_decisions_total)"} {
		if problems := problemsOf(all, q, map[string]bool{}); len(problems) == 0 {
			t.Errorf("nothing is wrong with %s", q)
		}
	}
	if problems := problemsOf(all, `sum by (outcome, instance) (rate(stint_decisions_total{outcome="granted"}[5m]))`, map[string]bool{}); len(problems) > 0 {
		t.Error(problems)
	}
}

func checkQuery(t *testing.T, all exported, query string, asked map[string]bool) {
	for _, p := range problemsOf(all, query, asked) {
		t.Errorf("%s: %s", query, p)
	}
}

func problemsOf(all exported, query string, asked map[string]bool) (problems []string) {
	query = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(query)
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			asked[node.Name] = true
			problems = append(problems, selectorProblems(all, node)...)
		case *parser.AggregateExpr:
			for _, label := range node.Grouping {
				if !ofPrometheus[label] && !anyHas(all, node.Expr, label) {
					problems = append(problems, "nothing it adds up has the label "+label)
				}
			}
		}
		return nil
	})
	return problems
}

func selectorProblems(all exported, s *parser.VectorSelector) (problems []string) {
	series, is := all[s.Name]
	if !is {
		return []string{"there is no " + s.Name}
	}
	for _, m := range s.LabelMatchers {
		switch {
		case m.Name == labels.MetricName || ofPrometheus[m.Name]:
		case series[m.Name] == nil:
			problems = append(problems, s.Name+" has no label "+m.Name)
		case m.Type == labels.MatchEqual && !series[m.Name][m.Value]:
			problems = append(problems, s.Name+" has no "+m.Name+" "+m.Value)
		}
	}
	return problems
}

// anyHas reports whether some series below an expression has a label.
func anyHas(all exported, expression parser.Expr, label string) (has bool) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is && all[s.Name][label] != nil {
			has = true
		}
		return nil
	})
	return has
}

// dashboardQueries are those of every panel.
func dashboardQueries(t *testing.T) (queries []string) {
	text, err := os.ReadFile("grafana/stint.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// alertQueries are those of the alerts, whose file Prometheus must take.
func alertQueries(t *testing.T) (queries []string) {
	groups, errs := rulefmt.ParseFile("prometheus/stint.rules.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			queries = append(queries, r.Expr)
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s does not say what it means and how grave it is", r.Alert)
			}
		}
	}
	return queries
}
