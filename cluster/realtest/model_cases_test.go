package realtest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// at makes an operation on a bucket of ten: sent and answered at two milliseconds.
func at(called, replied int64, v verb, n int64, out output) porcupine.Operation {
	return operation(input{key: "k", verb: v, capacity: 10, n: n, called: called * 1e6, replied: replied * 1e6}, out)
}

// granted is the answer to an acquire decided ms after the first one.
func granted(n, remaining, ms int64) output {
	return output{granted: n, remaining: remaining, reset: (10-remaining)*day.Milliseconds() - ms}
}

// The checker rejects wrong histories and accepts right ones.
func TestModel(t *testing.T) {
	lost := output{unknown: true}
	tests := []struct {
		name    string
		right   bool
		history []porcupine.Operation
	}{
		{"one after the other", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, acquire, 6, granted(6, 0, 2))}},
		{"at once, in the other order", true, []porcupine.Operation{at(1, 5, acquire, 4, granted(4, 0, 1)), at(1, 5, acquire, 6, granted(6, 4, 0))}},
		{"one after the other, in the other order", false, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 0, 1)), at(3, 5, acquire, 6, granted(6, 4, 0))}},
		{"granted twice", false, []porcupine.Operation{at(1, 5, acquire, 4, granted(4, 6, 0)), at(1, 5, acquire, 4, granted(4, 6, 0))}},
		{"a grant forgotten", false, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, peek, 1, granted(1, 9, 0))}},
		{"a loss that was carried out", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, acquire, 2, lost), at(5, 6, acquire, 1, granted(1, 3, 4))}},
		{"a loss that was not", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, acquire, 2, lost), at(5, 6, acquire, 1, granted(1, 5, 4))}},
		{"a loss carried out much later", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, acquire, 2, lost),
			at(5, 6, acquire, 1, granted(1, 5, 4)), at(7, 8, acquire, 1, granted(1, 2, 6))}},
		{"a loss carried out twice", false, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, acquire, 2, lost), at(5, 6, acquire, 1, granted(1, 1, 4))}},
		{"a loss carried out before it was sent", false, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 4, 0)), at(3, 4, acquire, 2, lost)}},
		{"what came after a loss was answered before it was sent", false, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(5, 6, acquire, 2, lost),
			at(3, 9, acquire, 1, granted(1, 6, 4)), at(3, 4, acquire, 1, granted(1, 5, 4))}},
		{"refunded", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, refund, 1, output{remaining: 7}), at(5, 6, reset, 0, output{granted: 1}),
			at(7, 8, refund, 1, output{remaining: -1})}},
		{"a refund after a loss that was carried out", true, []porcupine.Operation{at(1, 2, acquire, 4, granted(4, 6, 0)), at(3, 4, force, 2, lost), at(5, 6, refund, 3, output{remaining: 7})}},
		{"time goes back", false, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(3, 30, acquire, 1, granted(1, 8, 20)), at(31, 60, acquire, 1, granted(1, 7, 10))}},
		{"one read the time before another was granted, and was decided after it", true, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(5, 9, peek, 1, granted(1, 7, 4)),
			at(6, 8, acquire, 1, granted(1, 8, 6))}},
		{"time leaps", false, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(3, 30, acquire, 1, granted(1, 8, 3_600_000))}},
		{"time leaps for one that looks", false, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(3, 4, peek, 1, granted(1, 8, 2010))}},
		{"time leaps by the delay of a message", true, []porcupine.Operation{at(1, 2, acquire, 1, granted(1, 9, 0)), at(3, 4, peek, 1, granted(1, 8, 2000))}},
		{"a denial with the time to wait", true, []porcupine.Operation{at(1, 2, acquire, 9, granted(9, 1, 0)),
			at(3, 4, acquire, 2, output{remaining: 1, wait: day.Milliseconds() - 3, reset: 9*day.Milliseconds() - 3})}},
		{"a denial without reason", false, []porcupine.Operation{at(1, 2, acquire, 7, granted(7, 3, 0)),
			at(3, 4, acquire, 2, output{remaining: 3, wait: 0, reset: 7*day.Milliseconds() - 3})}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			known, lost := splitUnknown(test.history)
			model := lost.model()
			if got := porcupine.CheckOperations(model.ToModel(), known); got != test.right {
				t.Errorf("found right: %v", got)
			}
		})
	}
}
