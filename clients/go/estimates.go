package stint

import "sync"

const (
	rememberedStreams = 8
	maxStreamCallers  = 10_000
	mostTokens        = 1_000_000_000_000 // that a request may take
)

// estimates remember what the last streams of each caller have delivered, for the first slice of the next. When half of
// the callers that there may be have ended a stream, all others are forgotten.
type estimates struct {
	mu             sync.Mutex
	recent, before map[string][]int64
}

func (e *estimates) last(caller string) []int64 {
	if last, ok := e.recent[caller]; ok {
		return last
	}
	return e.before[caller]
}

// first is the mean of the caller's last streams, at least a step and at most sixteen; a step if there were none.
func (e *estimates) first(caller string, step int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.last(caller)
	if len(last) == 0 {
		return step
	}
	sum, count := int64(0), int64(len(last))
	for _, n := range last {
		sum += n
	}
	return max(step, min((sum+count-1)/count, 16*step))
}

func (e *estimates) note(caller string, tokens int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := append(e.last(caller), min(tokens, mostTokens))
	if len(e.recent) >= maxStreamCallers/2 || e.recent == nil {
		e.recent, e.before = map[string][]int64{}, e.recent
	}
	e.recent[caller] = last[max(0, len(last)-rememberedStreams):]
}
