// Package otelstint reports a limiter's decisions as OpenTelemetry metrics. It needs only the metrics API; the
// application chooses the SDK.
//
//	hooks, err := otelstint.New(otel.GetMeterProvider())
//	limiter := stint.Connect(addresses, stint.FailOpen(), stint.WithHooks(hooks))
//
// Keys are not attributes of the metrics, because their number has no bound.
package otelstint

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	stint "github.com/stintdb/stint/clients/go"
)

// The instruments.
const (
	// Decisions counts decisions. Its attributes are operation, such as "Allow"; allowed; source, which is "server",
	// "leased", "local" or "fallback"; and, if Stint did not decide, reason, one of the Reason constants.
	Decisions = "stint.client.decisions"
	// Duration is a histogram of the time that callers waited for decisions, in seconds, with the attributes operation
	// and source.
	Duration = "stint.client.decision.duration"
	// BreakerOpen is the number of limiters whose circuit breaker is open.
	BreakerOpen = "stint.client.breaker.open"
	// BreakerOpened counts the times that a breaker opened.
	BreakerOpened = "stint.client.breaker.opened"
	// LeaseTokens counts the tokens of leases. Its attribute direction is "taken" for tokens fetched and "returned" for
	// those given back.
	LeaseTokens = "stint.client.lease.tokens"
)

// Reasons why Stint did not decide.
const (
	ReasonTimeout     = "timeout"      // no reply in time
	ReasonCircuitOpen = "circuit_open" // no request was sent
	ReasonUncertain   = "uncertain"    // the outcome in a cluster is not known
	ReasonOverloaded  = "overloaded"   // too many requests wait
	ReasonUnavailable = "unavailable"  // failed connections, and replies of a server that cannot decide
	ReasonCancelled   = "cancelled"    // the caller's context was over
	ReasonMistake     = "mistake"      // the request itself was refused
)

// New makes the instruments and returns hooks for [stint.WithHooks] that feed them. The hooks may be given to several
// limiters.
func New(provider metric.MeterProvider) (stint.Hooks, error) {
	meter := provider.Meter("github.com/stintdb/stint/clients/go/otelstint")
	decisions, err1 := meter.Int64Counter(Decisions, metric.WithUnit("{decision}"), metric.WithDescription("Decisions on requests."))
	duration, err2 := meter.Float64Histogram(Duration, metric.WithUnit("s"), metric.WithDescription("Time until the decision."),
		metric.WithExplicitBucketBoundaries(.000_001, .000_01, .000_1, .000_25, .000_5, .001, .002_5, .005, .01, .02, .025, .05, .1, .25, 1))
	open, err3 := meter.Int64UpDownCounter(BreakerOpen, metric.WithUnit("{limiter}"), metric.WithDescription("Limiters whose circuit breaker is open."))
	opened, err4 := meter.Int64Counter(BreakerOpened, metric.WithUnit("{event}"), metric.WithDescription("Times a circuit breaker opened."))
	tokens, err5 := meter.Int64Counter(LeaseTokens, metric.WithUnit("{token}"), metric.WithDescription("Tokens fetched for leases, and given back."))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return stint.Hooks{}, err
	}
	taken, returned := direction("taken"), direction("returned")
	return stint.Hooks{
		Decision: func(ctx context.Context, d stint.Decision) {
			operation, source := attribute.String("operation", d.Operation), attribute.String("source", d.Source.String())
			attributes := []attribute.KeyValue{operation, source, attribute.Bool("allowed", d.Allowed)}
			if d.Err != nil {
				attributes = append(attributes, attribute.String("reason", Reason(d.Err)))
			}
			decisions.Add(ctx, 1, metric.WithAttributes(attributes...))
			duration.Record(ctx, d.Duration.Seconds(), metric.WithAttributes(operation, source))
		},
		Breaker: func(nowOpen bool, _ error) {
			if nowOpen {
				open.Add(context.Background(), 1)
				opened.Add(context.Background(), 1)
			} else {
				open.Add(context.Background(), -1)
			}
		},
		Lease: func(_ string, n int64) {
			if n >= 0 {
				tokens.Add(context.Background(), n, taken)
			} else {
				tokens.Add(context.Background(), -n, returned)
			}
		},
	}, nil
}

func direction(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("direction", name)))
}

// Reason is the constant for the error of a decision.
func Reason(err error) string {
	switch {
	case errors.Is(err, stint.ErrTimeout):
		return ReasonTimeout
	case errors.Is(err, stint.ErrCircuitOpen):
		return ReasonCircuitOpen
	case errors.Is(err, stint.ErrUncertain):
		return ReasonUncertain
	case errors.Is(err, stint.ErrOverloaded):
		return ReasonOverloaded
	case errors.Is(err, stint.ErrUnavailable):
		return ReasonUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ReasonCancelled
	default:
		return ReasonMistake
	}
}
