package docs

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// reservedLimits are limits of which requests with an id take. Each is of one key.
var reservedLimits = []struct {
	spec, arguments string
	most            int
}{
	{"FW", "1000 @month TZ Europe/Berlin FROM 17 HISTORY 3 WARN 80%", 300},
	{"FW", "60 @day HISTORY 2", 30},
	{"FW", "40 129600000ms HISTORY 1 WARN 25%", 20},
	{"FW", "50 @hour", 20},
	{"TB", "20 7/3600000ms WARN 50%", 9},
	{"CL", "9 5 3600", 4},
	{"SW", "30 7200000ms", 9},
	{"SL", "30 7200000ms WARN 60%", 9},
	{"LQ", "6 9/3600000ms", 3},
}

// drawReservedDecisions draws requests with ids. Most are new; settlements are of one of the last few, which may be settled or forgotten.
func drawReservedDecisions() string {
	random := rand.New(rand.NewPCG(38, 2028))
	b := &strings.Builder{}
	fmt.Fprintln(b, decisionsTitle)
	request, last := "RL.ALL CL k5 9 5 3600", 0
	id := func() string { return fmt.Sprint("call:", max(0, last-random.IntN(4))) }
	for range decisionSteps {
		if random.IntN(3) == 0 {
			unit := []int{60_000, 3_600_000, 20 * 3_600_000}[min(2, random.IntN(9)/4)]
			fmt.Fprintf(b, "advance %dms\n", 1+random.IntN(10*unit))
		}
		i, j := random.IntN(len(reservedLimits)), random.IntN(len(reservedLimits)-1)
		if j >= i {
			j++
		}
		l, other, n := reservedLimits[i], reservedLimits[j], 1+random.IntN(reservedLimits[i].most)
		switch draw := random.IntN(20); {
		case draw < 8:
			if random.IntN(8) > 0 {
				last++
			}
			request = fmt.Sprintf("RL.ALL %s k%d %s COST %d %s k%d %s TOKENS %d AS %s FOR %s", other.spec, j, other.arguments, random.IntN(min(n, 4)), l.spec, i, l.arguments,
				n, id(), []string{"600000ms", "90000000ms"}[random.IntN(2)])
			fmt.Fprintln(b, ">", request)
		case draw < 10: // the same again, as after a lost reply
			fmt.Fprintln(b, ">", request)
		case draw < 13:
			fmt.Fprintf(b, "> RL.SETTLE %s %d\n", id(), random.IntN(2*n))
		case draw == 13:
			fmt.Fprintf(b, "> RL.SETTLE %s COSTS %s %d%s\n", id(), []string{"-", "0", "2"}[random.IntN(3)], random.IntN(2*n), []string{"", "", " 3"}[random.IntN(3)])
		case draw == 14:
			fmt.Fprintf(b, "> RL.CANCEL %s\n", id())
		case (draw == 15 || draw == 17) && (l.spec == "FW" || l.spec == "TB"):
			fmt.Fprintf(b, "> RL.REFUND k%d %d\n", i, n)
		case draw == 16:
			fmt.Fprintf(b, "> DEL %s\n", []string{id(), fmt.Sprint("k", i)}[random.IntN(2)])
		default:
			fmt.Fprintf(b, "> RL.USAGE k%d\n", i)
		}
	}
	return b.String()
}
