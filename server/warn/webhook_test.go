package warn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// receiver answers by the function answer, and records the requests.
type receiver struct {
	answer func(attempt int, r *http.Request) (status int, err error)

	mu   sync.Mutex
	keys []string
	at   []time.Duration
	from time.Time
}

func (v *receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	_, key, _ := strings.Cut(string(body), `"key":"`)
	key, _, _ = strings.Cut(key, `"`)
	v.keys, v.at = append(v.keys, key), append(v.at, time.Since(v.from))
	attempt := len(v.keys)
	v.mu.Unlock()
	status, err := v.answer(attempt, r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader("ok")), Request: r}, nil
}

func (v *receiver) got() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.keys)
}

// start runs a webhook in a bubble until the test ends.
func start(t *testing.T, leads *atomic.Bool, answer func(attempt int, r *http.Request) (int, error)) (*Warnings, *receiver) {
	w := New(Options{Publish: func(_, _ []byte) int { return 0 }, Webhook: "https://user:secret@example.org/hook", Log: slog.New(slog.DiscardHandler)})
	v := &receiver{answer: answer, from: time.Now()}
	w.webhook.client.Transport = v
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, leads.Load)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w, v
}

func warning(key string) *engine.Warning {
	limit := limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachDay, Capacity: 10, Warn: 80}
	return &engine.Warning{Key: []byte(key), Limit: limit, Used: 8, At: time.Now().UnixNano(), Start: 1, End: 2}
}

func ok(int, *http.Request) (int, error) { return http.StatusOK, nil }

func leading(is bool) *atomic.Bool {
	var b atomic.Bool
	b.Store(is)
	return &b
}

func TestWebhookPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := start(t, leading(true), func(_ int, r *http.Request) (int, error) {
			user, password, _ := r.BasicAuth()
			if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Idempotency-Key") != warning("a").ID() || r.URL.Path != "/hook" || user != "user" || password != "secret" {
				t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
			}
			return http.StatusNoContent, nil
		})
		w.Note(warning("a"))
		synctest.Wait()
		if got := v.got(); !slices.Equal(got, []string{"a"}) || w.Counts() != (Counts{Given: 1, Posted: 1, HasWebhook: true}) {
			t.Errorf("%q, %+v", got, w.Counts())
		}
	})
}

// A webhook that fails, hangs or answers 500 is tried again, later each time, and with the same message.
func TestWebhookIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := start(t, leading(true), func(attempt int, r *http.Request) (int, error) {
			switch attempt {
			case 1:
				return 0, errors.New("connection refused")
			case 2:
				<-r.Context().Done()
				return 0, r.Context().Err()
			case 3:
				return http.StatusInternalServerError, nil
			case 4:
				return http.StatusFound, nil // a redirect is not followed
			case 5:
				return http.StatusUnauthorized, nil // the settings may be corrected
			}
			return http.StatusOK, nil
		})
		w.Note(warning("a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := v.got(); !slices.Equal(got, []string{"a", "a", "a", "a", "a", "a"}) || w.Counts() != (Counts{Given: 1, Posted: 1, Failed: 5, HasWebhook: true}) {
			t.Errorf("%q, %+v", got, w.Counts())
		}
		v.wantTimes(t, "a", 0, 1, 8, 12, 20, 36) // the second one hangs until the timeout of 5 s
	})
}

// wantTimes compares the times, in seconds, at which a key was posted.
func (v *receiver) wantTimes(t *testing.T, key string, want ...float64) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	var got []float64
	for i, k := range v.keys {
		if k == key {
			got = append(got, v.at[i].Seconds())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s was posted after %v s, want %v", key, got, want)
	}
}

// poisoned answers 500, or hangs, for keys that begin with these words, and 200 for others.
func poisoned(_ int, r *http.Request) (int, error) {
	body, _ := r.GetBody()
	text, _ := io.ReadAll(body)
	switch {
	case strings.Contains(string(text), `"key":"poison`):
		return http.StatusInternalServerError, nil
	case strings.Contains(string(text), `"key":"hang`):
		<-r.Context().Done()
		return 0, r.Context().Err()
	}
	return http.StatusOK, nil
}

// A warning that the endpoint does not accept delays no other, and only this warning is lost.
func TestWebhookPassesAWarningThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := start(t, leading(true), poisoned)
		at := func(seconds int, key string) {
			time.Sleep(time.Duration(seconds)*time.Second - time.Since(v.from))
			w.Note(warning(key))
			synctest.Wait()
		}
		at(0, "poison")
		at(2, "good2")
		at(8, "poison2")
		at(20, "good20")
		at(400, "good400")
		v.wantTimes(t, "good2", 2)
		if n := len(slices.DeleteFunc(v.got(), func(key string) bool { return key != "poison2" })); n < 6 {
			t.Errorf("poison2 was tried %d times in 392 s", n)
		}
		v.wantTimes(t, "good20", 20)
		v.wantTimes(t, "good400", 400)
		time.Sleep(2 * KeptFor)
		synctest.Wait()
		if c := w.Counts(); c.Posted != 3 || c.Lost != 2 || c.Queued != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// No matter how many warnings fail or hang, each new one is soon tried, and none is lost without having been tried.
func TestWebhookTriesEveryWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := start(t, leading(true), poisoned)
		for i := range MaxQueued - 1 {
			w.Note(warning(fmt.Sprint("poison", i)))
		}
		w.Note(warning("good"))
		time.Sleep(KeptFor - time.Second)
		synctest.Wait()
		if c := w.Counts(); c.Posted != 1 || c.Lost != 0 {
			t.Errorf("%+v", c)
		}
		time.Sleep(2 * time.Second)
		w.Note(warning("good again"))
		time.Sleep(time.Second)
		if c := w.Counts(); c.Posted != 2 || c.Lost != MaxQueued-1 || c.Queued != 0 {
			t.Errorf("%+v", c)
		}
		for i := range 200 {
			w.Note(warning(fmt.Sprint("hang", i)))
			if i%20 == 0 {
				w.Note(warning(fmt.Sprint("good", i)))
			}
		}
		time.Sleep(4 * KeptFor)
		synctest.Wait()
		if c := w.Counts(); c.Posted != 12 || c.Queued != 0 {
			t.Errorf("%+v", c)
		}
		got := v.got()
		for i := range 200 {
			if !slices.Contains(got, fmt.Sprint("hang", i)) {
				t.Errorf("hang%d is lost without a try", i)
			}
		}
	})
}

// An endpoint that fails for all warnings is tried less and less often: each warning once, and then one per minute.
func TestWebhookSparesAnEndpointThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isUp atomic.Bool
		w, v := start(t, leading(true), func(int, *http.Request) (int, error) {
			if isUp.Load() {
				return http.StatusOK, nil
			}
			return 0, errors.New("connection refused")
		})
		for i := range 100 {
			w.Note(warning(fmt.Sprint(i)))
		}
		time.Sleep(KeptFor - time.Minute)
		synctest.Wait()
		if n := len(v.got()); n < 105 || n > 120 {
			t.Errorf("%d attempts", n)
		}
		isUp.Store(true)
		time.Sleep(longPause)
		synctest.Wait()
		if c := w.Counts(); c.Posted != 100 || c.Lost != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// Warnings that are tried for too long, refused for good, or too many to keep are lost, and counted.
func TestWebhookLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int32
		status.Store(http.StatusServiceUnavailable)
		w, v := start(t, leading(true), func(int, *http.Request) (int, error) { return int(status.Load()), nil })
		w.Note(warning("old"))
		synctest.Wait()
		for i := range MaxQueued + 2 {
			w.Note(warning(fmt.Sprint(i)))
		}
		if c := w.Counts(); c.Lost != 3 || c.Queued != MaxQueued {
			t.Errorf("%+v", c)
		}
		time.Sleep(KeptFor - time.Second)
		w.Note(warning("new"))
		time.Sleep(2 * longPause)
		synctest.Wait()
		if c := w.Counts(); c.Lost != MaxQueued+3 || c.Queued != 1 || c.Posted != 0 {
			t.Errorf("%+v", c)
		}
		status.Store(http.StatusOK)
		time.Sleep(longPause)
		synctest.Wait()
		if got := v.got(); got[len(got)-1] != "new" || w.Counts().Posted != 1 {
			t.Errorf("%q, %+v", got[len(got)-1], w.Counts())
		}
		status.Store(http.StatusUnprocessableEntity)
		w.Note(warning("refused"))
		synctest.Wait()
		if c := w.Counts(); c.Lost != MaxQueued+4 || c.Queued != 0 {
			t.Errorf("%+v", c)
		}
	})
}

func TestWebhookQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := start(t, leading(true), func(int, *http.Request) (int, error) { return http.StatusBadGateway, nil })
		for range 9 {
			w.Note(warning(strings.Repeat("k", MaxQueuedBytes/8)))
		}
		queued := func() int {
			w.webhook.mu.Lock()
			defer w.webhook.mu.Unlock()
			return w.webhook.queue.bytes
		}
		if c := w.Counts(); c.Queued != 7 || c.Lost != 2 || queued() > MaxQueuedBytes {
			t.Errorf("%+v, %d bytes", c, queued())
		}
		time.Sleep(KeptFor + longPause)
		synctest.Wait()
		if queued() != 0 {
			t.Errorf("%d bytes of none", queued())
		}
	})
}

// A node that does not lead posts nothing, and forgets warnings. When it becomes the leader, it posts the ones it
// remembers.
func TestWebhookOfAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leads := leading(false)
		w, v := start(t, leads, ok)
		w.Note(warning("forgotten"))
		time.Sleep(KeptFor)
		for i := range MaxQueued + 1 {
			w.Note(warning(fmt.Sprint(i)))
		}
		time.Sleep(KeptFor - 2*askAgain)
		if c := w.Counts(); len(v.got()) != 0 || c.Lost != 0 || c.Queued != MaxQueued {
			t.Errorf("%q, %+v", v.got(), c)
		}
		leads.Store(true)
		time.Sleep(askAgain)
		synctest.Wait()
		if got := v.got(); len(got) != MaxQueued || got[0] != "1" || w.Counts().Lost != 0 {
			t.Errorf("%d posted, %+v", len(got), w.Counts())
		}
	})
}

// Old entries that a node finds in its log when it starts are not posted again.
func TestWebhookOfARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := start(t, leading(true), ok)
		old := warning("old")
		old.At -= int64(KeptFor)
		w.Note(old)
		w.Note(warning("new"))
		synctest.Wait()
		if got := v.got(); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%q", got)
		}
	})
}

// Keys that are not UTF-8 remain distinct.
func TestKeysOfBytes(t *testing.T) {
	for key, want := range map[string]string{"\xff\xfek": `"key_base64":"//5r",`, "\xfe\xffk": `"key_base64":"/v9r",`, "k\u00e9\n": `"key":"ké\n",`} {
		if text := string(message(warning(key))); !strings.Contains(text, want) || strings.Count(text, `"key`) != 1 {
			t.Errorf("%q: %s", key, text)
		}
	}
}

// Each message has an id, which is the same for the same window, limit and key.
func TestID(t *testing.T) {
	ids := map[string]bool{}
	add := func(change func(w *engine.Warning)) {
		w := warning("a")
		change(w)
		ids[w.ID()] = true
	}
	add(func(w *engine.Warning) {})
	add(func(w *engine.Warning) { w.Used, w.At, w.End = 9, w.At+1, 3 })
	if len(ids) != 1 {
		t.Errorf("%d ids of one window", len(ids))
	}
	add(func(w *engine.Warning) { w.Key = []byte("b") })
	add(func(w *engine.Warning) { w.Start++ })
	add(func(w *engine.Warning) { w.Limit.Warn = 90 })
	add(func(w *engine.Warning) { w.Limit.Capacity++ })
	add(func(w *engine.Warning) { w.End = 0 })
	if len(ids) != 6 {
		t.Errorf("%d ids", len(ids))
	}
}
