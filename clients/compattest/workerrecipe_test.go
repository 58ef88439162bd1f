//go:build e2e

package compattest

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// customers adds jobs to the queue of the page's worker, and prints in which order the last job of each customer ended.
const customers = `
import { Queue, QueueEvents } from "bullmq";
const queue = new Queue("mail", { connection });
const events = new QueueEvents("mail", { connection });
await events.waitUntilReady();
const start = Date.now();
const send = async (customer, mails) => {
  const jobs = Array.from({ length: mails }, () => queue.add("mail", { customer }));
  await Promise.all(jobs.map(async (job) => (await job).waitUntilFinished(events)));
  console.log(customer, Date.now() - start < 1000 ? "at once" : "later");
};
await Promise.all([send("many", 4), send("few", 2)]);
process.exit();
`

// The worker of docs/recipes/worker-pool.md limits the jobs of each customer.
func TestWorkerRecipe(t *testing.T) {
	node := allLimiters[0]
	node.install(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "recipes", "worker-pool.md"))
	if err != nil {
		t.Fatal(err)
	}
	worker := regexp.MustCompile("(?s)```js bullmq\n(.*?)```").FindSubmatch(page)
	if worker == nil {
		t.Fatal("the page has no worker")
	}
	_, port, _ := net.SplitHostPort(testserver.Start(t, testserver.Build(t, filepath.Join("..", ".."))))
	program := testserver.Command(t, "node", "--input-type=module", "-")
	program.Dir = node.folder
	program.Stdin = strings.NewReader(strings.Replace(string(worker[1]), "6379", port, 1) + customers)
	output, err := program.CombinedOutput()
	if want := "few at once\nmany later\n"; err != nil || string(output) != want {
		t.Errorf("%v, and the output is\n%s\nin place of\n%s", err, output, want)
	}
}
