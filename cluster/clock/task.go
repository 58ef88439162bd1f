package clock

import (
	"context"
	"math"
	"sync"
	"time"
)

// Task is work that is done step by step. Between two steps it is only a timer: a node may have 64 groups, each with a dozen tasks, and a
// goroutine that sleeps costs the memory of its stack. A step that waits for a disk or a network delays no other task.
type Task struct {
	ctx   context.Context
	step  func(context.Context) (pause time.Duration)
	ended *sync.WaitGroup
	timer *time.Timer

	mu    sync.Mutex
	runs  bool // a step, or the last one has
	again bool // another step follows at once
}

// Never is the pause before a step that only [Task.Now] brings.
const Never time.Duration = math.MaxInt64

// Repeat has step called at once, and again each time after the pause that it returned, until ctx is done. Then ended goes on, once no step
// is under way.
func Repeat(ctx context.Context, ended *sync.WaitGroup, step func(context.Context) (pause time.Duration)) *Task {
	return after(ctx, ended, 0, step)
}

// Every has step called again and again, with all others of the same period, until ctx is done, as [Repeat] does.
func Every(ctx context.Context, ended *sync.WaitGroup, period time.Duration, step func(context.Context)) {
	after(ctx, ended, UntilNext(period), func(ctx context.Context) time.Duration {
		step(ctx)
		return UntilNext(period)
	})
}

func after(ctx context.Context, ended *sync.WaitGroup, pause time.Duration, step func(context.Context) time.Duration) *Task {
	t := &Task{ctx: ctx, step: step, ended: ended}
	ended.Add(1)
	t.timer = time.AfterFunc(Never, t.run)
	t.timer.Reset(pause) // run finds t.timer set
	context.AfterFunc(ctx, t.Now)
	return t
}

// Now ends the pause. While a step is under way, another one follows it at once.
func (t *Task) Now() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
	if !t.runs {
		t.timer.Reset(0)
	}
}

func (t *Task) run() {
	t.mu.Lock()
	if t.runs {
		t.mu.Unlock()
		return
	}
	t.runs, t.again = true, true
	t.mu.Unlock()
	for pause := Never; t.goesOn(pause); {
		pause = t.step(t.ctx)
	}
}

// goesOn reports whether a step follows at once. If not, it sets the timer, or ends the task.
func (t *Task) goesOn(pause time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		t.timer.Stop()
		t.ended.Done()
		return false
	}
	if t.again {
		t.again = false
		return true
	}
	t.runs = false
	if pause != Never {
		t.timer.Reset(pause)
	}
	return false
}
