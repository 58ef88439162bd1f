package clock

import (
	"context"
	"math"
	"sync"
	"time"
)

// Task is work that is done step by step. Between two steps it is only a timer: a node may have 64 groups, each with a
// dozen tasks, and a goroutine that sleeps costs the memory of its stack. A step that waits for a disk or a network
// delays no other task.
type Task struct {
	ctx   context.Context
	step  func(context.Context) (pause time.Duration)
	ended *sync.WaitGroup

	mu    sync.Mutex
	timer *time.Timer // nil before the first pause
	runs  bool        // a step is under way, or the task has ended
	again bool        // another step follows at once
}

// Never is a pause that only [Task.Now] ends.
const Never time.Duration = math.MaxInt64

// Repeat calls step at once, and again each time after the pause that step returned, until ctx is done. ended waits for
// the step under way.
func Repeat(ctx context.Context, ended *sync.WaitGroup, step func(context.Context) (pause time.Duration)) *Task {
	t := &Task{ctx: ctx, step: step, ended: ended}
	ended.Add(1)
	t.Now()
	context.AfterFunc(ctx, t.Now)
	return t
}

// Every calls step at every multiple of period until ctx is done, as [Repeat] does: tasks with the same period have
// their steps at the same time.
func Every(ctx context.Context, ended *sync.WaitGroup, period time.Duration, step func(context.Context)) {
	begun := false
	Repeat(ctx, ended, func(ctx context.Context) time.Duration {
		if begun {
			step(ctx)
		}
		begun = true
		return UntilNext(period)
	})
}

// setTimer begins a pause. The caller holds mu.
func (t *Task) setTimer(pause time.Duration) {
	switch {
	case pause == Never:
	case t.timer == nil:
		t.timer = time.AfterFunc(pause, t.due)
	default:
		t.timer.Reset(pause)
	}
}

// due is called at the end of a pause.
func (t *Task) due() {
	t.mu.Lock()
	begins := !t.runs
	if begins {
		t.runs, t.again = true, true
	}
	t.mu.Unlock()
	if begins {
		t.run()
	}
}

// Now ends the pause. While a step is under way, another one follows it at once.
func (t *Task) Now() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
	if t.runs {
		return
	}
	t.runs = true
	if t.timer != nil {
		t.timer.Stop()
	}
	go t.run()
}

func (t *Task) run() {
	for pause := Never; t.goesOn(pause); {
		pause = t.step(t.ctx)
	}
}

// goesOn reports whether a step follows at once. If not, it begins a pause, or ends the task.
func (t *Task) goesOn(pause time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		t.ended.Done() // and runs stays true
		return false
	}
	if t.again || pause <= 0 {
		t.again = false
		return true
	}
	t.runs = false
	t.setTimer(pause)
	return false
}
