// Command failover repeatedly kills the primary of a limiter in the middle of a burst. It counts the requests admitted
// beyond the limit and measures the time without answers. It measures three Stint nodes, and three Redis servers with
// three Sentinels, which run the same script as the benchmarks beside it.
//
//	go run -C bench ./failover -rounds 50
//
// With -hot it measures Stint nodes with --cluster-ahead, and one hot key at those that survive.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stintdb/stint/internal/child"
)

type settings struct {
	rounds   int
	parallel int
	systems  string
	verbose  bool
	hot      bool
}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 3, "kills of each system's primary, each in a new cluster; 10 with -hot unless given")
	flag.BoolVar(&s.hot, "hot", false, "measure nodes with --cluster-ahead, and one hot key at those that survive")
	flag.IntVar(&s.parallel, "parallel", 1, "rounds at a time; use more than one only for a system that mostly waits")
	flag.StringVar(&s.systems, "systems", "stint,sentinel-1s,sentinel", "systems to measure, separated by commas")
	flag.BoolVar(&s.verbose, "v", false, "print a line for every round")
	flag.Parse()
	if given := false; s.hot {
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rounds" })
		if !given {
			s.rounds = hotRounds
		}
	}
	redis.SetLogger(quiet{}) // its errors are counted here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

// quiet drops the log of the client library.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func run(ctx context.Context, s settings) error {
	if s.rounds < 1 || s.parallel < 1 {
		return errors.New("-rounds and -parallel must be at least 1")
	}
	dir, err := os.MkdirTemp("", "failover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.hot {
		return measureHot(ctx, s.rounds, dir)
	}
	systems, err := pick(ctx, s.systems, dir)
	if err != nil {
		return err
	}
	var rows []string
	for _, system := range systems {
		outcomes, err := killAgainAndAgain(ctx, s, system, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", system.name, err)
		}
		rows = append(rows, row(system, outcomes))
	}
	fmt.Printf("\n%d clients, %d keys of %d requests each, the primary killed after %d of them.\n\n", clients, keys, limit, killAfter)
	fmt.Println("| system | kills | admitted beyond the limit | rounds with any | most in one | seconds without answers: median | p99 | most |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	fmt.Println(strings.Join(rows, "\n"))
	return nil
}

// system is a kind of cluster to measure.
type system struct {
	name, title string
	start       func(ctx context.Context, dir string) (cluster, error)
}

// cluster is a running system.
type cluster interface {
	// connect returns one client's connection.
	connect(client int) (asker, error)
	// killPrimary kills the deciding server with SIGKILL.
	killPrimary(ctx context.Context) error
	stop()
}

// asker asks whether one request may pass. An error means that there was no answer.
type asker interface {
	ask(ctx context.Context, key string) (admitted bool, err error)
	close()
}

func pick(ctx context.Context, names, dir string) (systems []system, err error) {
	for _, name := range strings.Split(names, ",") {
		switch name {
		case "stint":
			binary, err := buildStint(ctx, dir)
			if err != nil {
				return nil, err
			}
			systems = append(systems, system{name, "Stint, three nodes", startStint(binary)})
		case "sentinel":
			systems = append(systems, system{name, "Redis and Sentinel, down-after 30 s (Debian's default)", startSentinel(30_000)})
		case "sentinel-1s":
			systems = append(systems, system{name, "Redis and Sentinel, down-after 1 s", startSentinel(1000)})
		default:
			return nil, fmt.Errorf("-systems: '%s' is none of stint, sentinel, sentinel-1s", name)
		}
		if strings.HasPrefix(name, "sentinel") {
			for _, program := range []string{"redis-server", "redis-sentinel"} {
				if _, err := exec.LookPath(program); err != nil {
					return nil, fmt.Errorf("%s is not installed; on Debian and Ubuntu: apt-get install redis-server redis-sentinel", program)
				}
			}
		}
	}
	return systems, nil
}

// buildStint builds the server of the checkout into a directory.
func buildStint(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "stint")
	build := child.Command(ctx, "go", "build", "-o", binary, "./cmd/stint")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/stint: %w\n%s", err, out)
	}
	return binary, nil
}

func killAgainAndAgain(ctx context.Context, s settings, system system, dir string) (outcomes []outcome, err error) {
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		turns = make(chan int)
	)
	for range s.parallel {
		all.Go(func() {
			for round := range turns {
				o, failed := playRound(ctx, system, filepath.Join(dir, fmt.Sprintf("%s-%d", system.name, round)))
				mu.Lock()
				if failed != nil {
					err = errors.Join(err, fmt.Errorf("round %d: %w", round, failed))
				} else {
					outcomes = append(outcomes, o)
					if s.verbose {
						fmt.Printf("%s %d: %d admitted beyond the limit, %.2f s without answers, %d requests without one\n",
							system.name, round, o.beyond, o.silence.Seconds(), o.failed)
					}
				}
				mu.Unlock()
			}
		})
	}
	for round := range s.rounds {
		mu.Lock()
		failed := err
		mu.Unlock()
		if failed != nil || ctx.Err() != nil {
			break
		}
		turns <- round
	}
	close(turns)
	all.Wait()
	return outcomes, errors.Join(err, ctx.Err())
}

func playRound(ctx context.Context, system system, dir string) (outcome, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	c, err := system.start(ctx, dir)
	if err != nil {
		return outcome{}, err
	}
	defer c.stop()
	return burst(ctx, c)
}

func row(s system, outcomes []outcome) string {
	beyond, rounds, most := 0, 0, 0
	var silences []time.Duration
	for _, o := range outcomes {
		beyond += o.beyond
		most = max(most, o.beyond)
		if o.beyond > 0 {
			rounds++
		}
		silences = append(silences, o.silence)
	}
	slices.SortFunc(silences, cmp.Compare)
	rank := func(share float64) float64 {
		return silences[min(len(silences)-1, int(share*float64(len(silences))))].Seconds()
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.2f | %.2f | %.2f |", s.title, len(outcomes), beyond, rounds, most, rank(0.5), rank(0.99), rank(1))
}
