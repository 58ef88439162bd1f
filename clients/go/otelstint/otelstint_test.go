package otelstint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
	"github.com/stintdb/stint/clients/go/otelstint"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// TestMetrics: a limiter's metrics, read like an exporter.
func TestMetrics(t *testing.T) {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	reader := metric.NewManualReader()
	hooks, err := otelstint.New(metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	l := stint.Connect([]string{server.Address}, stint.FailOpen(), stint.Timeout(30*time.Second), stint.WithHooks(hooks), stint.Breaker(1, time.Hour))
	defer l.Close()
	limit := stint.PerDay(2)
	for range 3 {
		if _, err := l.Allow(t.Context(), "k", limit); err != nil {
			t.Fatal(err)
		}
	}
	leases := l.Lease(stint.LeaseOptions{})
	if _, err := leases.Allow(t.Context(), "leased", limit); err != nil {
		t.Fatal(err)
	}
	hooks.Lease("leased", 1)
	server.Kill()
	for range 2 {
		if _, err := l.Allow(t.Context(), "k", limit); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	l.Allow(cancelled, "k", limit)
	l.Allow(t.Context(), "k", stint.Limit{})

	got := read(t, reader)
	for point, want := range map[string]int64{
		`stint.client.decisions allowed=true operation=Allow source=server`:                       3,
		`stint.client.decisions allowed=false operation=Allow source=server`:                      1,
		`stint.client.decisions allowed=true operation=Allow reason=unavailable source=fallback`:  1,
		`stint.client.decisions allowed=true operation=Allow reason=circuit_open source=fallback`: 1,
		`stint.client.decisions allowed=false operation=Allow reason=cancelled source=fallback`:   1,
		`stint.client.decisions allowed=false operation=Allow reason=mistake source=fallback`:     1,
		`stint.client.decision.duration operation=Allow source=server`:                            4,
		`stint.client.decision.duration operation=Allow source=fallback`:                          4,
		`stint.client.breaker.open`:                 1,
		`stint.client.breaker.opened`:               1,
		`stint.client.lease.tokens direction=taken`: 1,
	} {
		if got[point] != want {
			t.Errorf("%s is %d, want %d", point, got[point], want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// read collects sums, and the counts of histograms, by name and attributes.
func read(t *testing.T, reader *metric.ManualReader) map[string]int64 {
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &collected); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	add := func(name string, attributes attribute.Set, n int64) {
		for _, a := range attributes.ToSlice() {
			name += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		found[name] += n
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			}
		}
	}
	return found
}

func TestReason(t *testing.T) {
	for err, want := range map[error]string{
		fmt.Errorf("%w: %w", stint.ErrUnavailable, stint.ErrUncertain):  otelstint.ReasonUncertain,
		fmt.Errorf("%w: %w", stint.ErrUnavailable, stint.ErrOverloaded): otelstint.ReasonOverloaded,
		fmt.Errorf("%w: %w", stint.ErrUnavailable, stint.ErrTimeout):    otelstint.ReasonTimeout,
		errors.New("NOAUTH"): otelstint.ReasonMistake,
	} {
		if got := otelstint.Reason(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func ExampleNew() {
	hooks, err := otelstint.New(noop.NewMeterProvider()) // otel.GetMeterProvider() in a program
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := stint.Connect([]string{"127.0.0.1:6379"}, stint.FailOpen(), stint.WithHooks(hooks))
	defer limiter.Close()
	fmt.Println(limiter.Open())
	// Output: false
}
