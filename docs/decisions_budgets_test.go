package docs

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// budgetLimits are limits with zones, beginnings, thresholds and histories. Each is of one key.
var budgetLimits = []struct {
	command, spec, arguments, options string
	most                              int
}{
	{"FW.ACQUIRE", "FW", "1000 @month", "TZ Europe/Berlin FROM 17 HISTORY 3 WARN 80%", 400},
	{"FW.ACQUIRE", "FW", "100 @day", "TZ America/New_York FROM 6 HISTORY 2", 60},
	{"FW.ACQUIRE", "FW", "500 @week", "TZ Asia/Kolkata FROM sunday WARN 50%", 200},
	{"FW.ACQUIRE", "FW", "2000 @quarter", "TZ Australia/Lord_Howe FROM 05-31 HISTORY 4", 500},
	{"FW.ACQUIRE", "FW", "5000 @year", "FROM 02-29 HISTORY 1 WARN 10%", 500},
	{"FW.ACQUIRE", "FW", "300 @month", "FROM 31 WARN 33%", 90},
	{"FW.ACQUIRE", "FW", "60 @week", "HISTORY 1 WARN 100%", 40},
	{"FW.ACQUIRE", "FW", "50 @hour", "HISTORY 5 WARN 90%", 30},
	{"FW.ACQUIRE", "FW", "40 129600000ms", "HISTORY 2 WARN 25%", 20},
	{"TB.ACQUIRE", "TB", "20 7/3600000ms", "WARN 50%", 9},
	{"SW.ACQUIRE", "SW", "30 7200000ms", "WARN 60%", 9},
	{"SL.ACQUIRE", "SL", "30 7200000ms", "WARN 60%", 9},
	{"LB.QUEUE", "LQ", "6 9/3600000ms", "WARN 75%", 3},
}

func drawBudgetDecisions() string {
	random := rand.New(rand.NewPCG(38, 2026))
	b := &strings.Builder{}
	fmt.Fprintln(b, decisionsTitle)
	for range decisionSteps {
		if random.IntN(3) == 0 {
			unit := []int{60_000, 3_600_000, 40 * 3_600_000}[min(2, random.IntN(8)/3)]
			fmt.Fprintf(b, "advance %dms\n", 1+random.IntN(30*unit))
		}
		i := random.IntN(len(budgetLimits))
		l, key := budgetLimits[i], fmt.Sprint("k", i)
		n := 1 + random.IntN(l.most)
		switch draw := random.IntN(20); {
		case draw == 0:
			fmt.Fprintf(b, "> DEL %s\n", key)
		case draw < 3 && (l.spec == "FW" || l.spec == "TB"):
			fmt.Fprintf(b, "> RL.REFUND %s %d\n", key, []int{n, 5000}[random.IntN(2)]) // 5000: all that was taken
		case draw < 6:
			fmt.Fprintf(b, "> RL.ALL CL c 9 5 3600 COST %d %s %s %s %s TOKENS %d\n", random.IntN(3), l.spec, key, l.arguments, l.options, n)
		case draw < 11:
			fmt.Fprintf(b, "> RL.USAGE %s\n", key)
		default:
			options := "PEEK UPTO FORCE"
			if l.spec == "LQ" {
				options = "PEEK"
			}
			fmt.Fprintf(b, "> %s %s %s %d %s%s\n", l.command, key, l.arguments, n, l.options, drawOption(random, options))
		}
	}
	return b.String()
}
