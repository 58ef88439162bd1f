# The steps of .ci/run: a row and a function for each, run from the repository's root. Sourced by .ci/run.
# shellcheck shell=bash

# lane, name, title
readonly steps=(
    "first   tools:      install the tools that tests need"
    "first   build:      compile what several steps use"
    "side    race:       go test -race"
    "side    test:       go test ./..., the command of the README"
    "side    e2e:        server processes, crashes, attacks, and the programs of the handbook"
    "side    clients:    the Go client's modules, with the race detector"
    "side    compat:     real clients and limiter libraries in seven languages"
    "side    packaging:  image, compose files, systemd unit, release, packages, Kubernetes"
    "side    node:       the Node.js client with both drivers, and its package in an empty folder"
    "side    browser:    the dashboard and the site in a browser; pictures in .ci/artifacts"
    "side    site:       the site of the handbook, without a dead link, with its versions, and the program of its playground"
    "side    exact:      random calls compared with an exact model, byte for byte; as many again through restarts and nodes"
    "side    faults:     a simulated cluster through faults"
    "side    models:     every state of the models of loans and leases, and what the engine does by their rules"
    "side    python:     the Python client: ruff, mypy, tests, the built package in a clean environment"
    "side    java:       the JVM clients: compiled without warnings, tests, their packages"
    "side    lint:       golangci-lint, configured by .golangci.yml, and actionlint on the workflows"
    "side    vet:        go vet in the modules that golangci-lint does not check"
    "side    vulnerabilities: known vulnerabilities of dependencies and of Go"
    "side    docker:     queries of the dashboard and of the alerts"
    "side    bench:      the tests of the benchmarks"
    "side    redis:      random commands on data, and random scripts, answered as by Redis 7.0 and Valkey 9.1, byte for byte"
    "side    format:     gofmt"
    "alone   hostile:    attacks by users with the smallest rights, beside a bystander, and random requests that are well-formed"
    "alone   processes:  real processes under faults, checked for linearizability, and lent keys, whose limits must hold"
    "night   sizes:      all tests at ten times their full size"
    "night   race-all:   the race detector on all tests"
    "night   schedules:  the tests in bubbles, twenty times, with goroutines that give way anywhere and are woken in any order"
    "night   groups-nodes: nodes of a cluster with --groups that join, lose their disk and leave, five times"
    "night   envoys:     three Envoys with one limit, while streams are cut, nodes killed and the limit halved"
    "night   envoy-gateway: the container and the rules that Envoy Gateway's code makes of our resource and of its tests"
    "night   goroutines: the tests of the server as it serves connections on systems other than Linux"
    "night   attacks:    the attacks of docs/performance.md at full size"
    "night   arm64:      the engine on another processor, by emulation: the same replies, steps and results, and no fused operations"
    "night   targets:    the program for each processor of each system of a release"
    "night   flips:      every bit of a node's files"
    "night   allowance:  leaders that decide in memory, through 10,000 faults"
    "night   crashes:    servers killed, 200 times in each mode"
    "night   upstream:   the tests of limiter libraries themselves, on Redis and on Stint"
    "night   redis-suite: Redis's own tests, on Redis and on Stint"
    "night   release:    everything of a release, built twice with equal bytes, into dist/, installed and upgraded"
    "night   figures:    every benchmark once, at its smallest size"
    "night   bare:       .ci/run in a new Debian that has git and nothing else"
    "night   failover:   the primary killed in the middle of a burst, beside Redis with Sentinel"
)

readonly client_modules=(clients/go clients/go/otelstint clients/go/grpclimit clients/go/examples clients/go/migrating) # have tests
readonly modules=(. bench clients/compattest/go clients/compattest/xds server/admin/browser "${client_modules[@]}" docker packaging)
readonly linted=(. clients/go)
readonly artifacts="${CI_ARTIFACTS:-$PWD/.ci/artifacts}" # files that a run leaves for inspection

# The sizes of the campaigns: name, for a change, every night. CI_SIZE=nightly takes the latter.
readonly campaigns=(
    "faults        200   50000"   # of a simulated cluster
    "group-faults  40    10000"   # of one with several groups
    "shared-faults 20    10000"   # of one of five nodes, with limits that its four groups share; and again with replicas on some nodes
    "race-faults   12    100"     # of one under the race detector
    "race-group-faults 6 100"     # of one with several groups
    "states        700000 20000000" # of each model of loans and leases, at most
    "histories     10000 1000000" # of loans, random
    "exact         30000 1000000" # calls compared with the exact model
    "redis         200000 1000000" # commands compared with Redis, and as many with Valkey
    "scripts       5000  1000000" # of each kind, compared with Redis, and as many with Valkey
    "hostile       300ms 10s"     # of each act of hostile users
    "hostile-scale 5     100"     # percent of the largest inputs that they send
    "well-formed   10000 1000000" # requests by each protocol, of random content
    "real-faults   32    500"     # of real processes
    "litellm-calls 20    200"     # at once, of LiteLLM's proxy
    "real-requests 70000 2000000" # decided by real processes meanwhile
)

# size prints the size of a campaign.
size() {
    local entry name change night
    for entry in "${campaigns[@]}"; do
        read -r name change night <<<"$entry"
        [[ $name == "$1" ]] || continue
        if [[ ${CI_SIZE:-} == nightly ]]; then echo "$night"; else echo "$change"; fi
        return
    done
    fail "unknown campaign $1"
}

# tests_of prints the pattern of the tests in files.
tests_of() { printf '^(%s)$' "$(grep -ho '^func Test[A-Za-z0-9_]*' "$@" | sed 's/^func //' | sort -u | paste -sd '|')"; }

# use_server has the tests of a step use one build of the server, which the first such step of a run makes.
use_server() {
    export SERVER_BINARY="$CI_RECORD/stint"
    ( flock 9; [[ -x $SERVER_BINARY ]] || go build -o "$SERVER_BINARY" ./cmd/stint ) 9>"$SERVER_BINARY.lock"
}

step_tools() { install_tools; }

# step_build compiles our packages and their dependencies before steps that run side by side would each do so.
step_build() {
    go build ./... &
    local packages=$!
    CGO_ENABLED=1 go build -race ./...
    wait "$packages"
}

step_format() {
    local unformatted
    unformatted=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
    [[ -z $unformatted ]] || fail "not formatted by gofmt:"$'\n'"$unformatted"
}

# step_vet looks at the modules that golangci-lint, of which go vet is a part, does not look at. Those of the clients are compiled
# for the race detector, as step_clients has them.
step_vet() {
    local module
    for module in "${modules[@]}" clients/compattest/limiters/go; do # not in modules: its dependencies are what users run
        [[ " ${linted[*]} " != *" $module "* ]] || continue
        if [[ " ${client_modules[*]} " == *" $module "* ]]; then
            (cd "$module" && CGO_ENABLED=1 go vet -race ./...)
        else
            (cd "$module" && go vet ./...)
        fi
    done
    (cd packaging && go vet -tags installed ./installed)
    vet_windows
}

# vet_windows looks at the packages that have files for Windows. TestReleaseTargets compiles the whole program for it.
vet_windows() {
    local files
    mapfile -t files < <(git ls-files '*_windows.go')
    # shellcheck disable=SC2046 # folders, separated by lines
    GOOS=windows go vet $(dirname "${files[@]/#/./}" | sort -u)
}

step_lint() {
    local lint module
    "$(go_program github.com/rhysd/actionlint/cmd/actionlint "$actionlint_version")" -shellcheck= -pyflakes=
    lint=$(go_program github.com/golangci/golangci-lint/v2/cmd/golangci-lint "$golangci_version")
    for module in "${linted[@]}"; do
        (cd "$module" && "$lint" run --config "$OLDPWD/.golangci.yml" --max-same-issues 0 ./...)
    done
}

# step_vulnerabilities checks every module against Go's database of vulnerabilities. If neither the database nor a copy of it
# in the directory of GOVULNDB can be reached, it checks nothing, and the end of the run reports that.
step_vulnerabilities() {
    local check module
    check=$(go_program golang.org/x/vuln/cmd/govulncheck "$govulncheck_version")
    for module in "${modules[@]}"; do
        if (cd "$module" && "$check" ./...) >"$scratch/vuln.log" 2>&1; then
            echo "$module: no vulnerabilities are known"
        elif grep -q "fetching vulnerabilities" "$scratch/vuln.log"; then
            tail -n 1 "$scratch/vuln.log"
            echo "vulnerabilities were not checked: the database cannot be reached" >"$CI_RECORD/not-checked"
            return
        else
            cat "$scratch/vuln.log"
            fail "$module: govulncheck failed"
        fi
    done
}

# step_test leaves the simulations that step_faults goes on with to that.
step_test() { watched go test ./... -skip '^TestFaults(InGroups|OfSharedLimits|WithReplicas|OfARegion)?$'; }

# step_e2e runs the tests behind the tag e2e, except clients/compattest and those of steps of their own. The others of their
# packages run in step_test.
step_e2e() {
    use_server
    local -x PATH="$(redis_py):$PATH"
    local files packages
    mapfile -t files < <(git grep -l '^//go:build e2e' -- '*_test.go' ':!clients/compattest')
    mapfile -t packages < <(dirname "${files[@]}" | sort -u)
    watched go test -tags e2e -run "$(tests_of "${files[@]}")" -skip '^(TestExact.*|TestRepliesAreThoseOfRedis|TestGenerated|TestHostileUsers|TestWellFormedRequests|TestFaults.*|TestNodesOfGroupsComeAndGo|TestEnvoyQuotasThroughFaults)$' "${packages[@]/#/./}"
}

step_compat() {
    use_server
    local -x PATH="$(redis_py):$PATH"
    (
        flock 9 # another run on this machine builds the same programs in the cache
        watched go test -tags e2e ./clients/compattest -skip '^TestEnvoyGateway$' -litellm-calls "$(size litellm-calls)"
    ) 9>"$cache/compat.lock"
}

# redis_py prints the folder of a python3 with redis-py, at the version that clients/compattest pins.
redis_py() { python_environment clients/compattest/python/requirements.txt; }

step_faults() { watched go test ./cluster -run TestFaults -faults "$(size faults)" -group-faults "$(size group-faults)" -shared-faults "$(size shared-faults)" -timeout 6h; }

step_models() {
    watched go test ./internal/testspec -states "$(size states)" -timeout 2h
    watched go test ./engine/store -run TestLoansNeverExceed -histories "$(size histories)" -timeout 2h
}

step_exact() { watched go test -tags e2e ./cmd/stint -run TestExact -exact-calls "$(size exact)" -timeout 2h; }

step_redis() {
    watched go test -tags e2e ./cmd/stint -run TestRepliesAreThoseOfRedis -redis-commands "$(size redis)" -timeout 1h
    watched go test -tags e2e ./engine/script -run '^TestGenerated$' -generated "$(size scripts)" -timeout 4h
}

step_hostile() { watched go test -tags e2e ./cmd/stint -run "^(TestHostileUsers|TestWellFormedRequests)$" -hostile-for "$(size hostile)" -hostile-scale "$(size hostile-scale)" -well-formed "$(size well-formed)" -timeout 2h; }

step_processes() {
    use_server
    watched go test -tags e2e ./cluster/realtest -run TestFaults -faults "$(size real-faults)" -requests "$(size real-requests)" -timeout 2h
    grep -E '^ +[a-z_]+_test.go:[0-9]+: (seed|[0-9])' "$log" | grep -v mended
}

starts_goroutines='^[[:space:]]*go |[.]Go[(]'

# Tests that step_race leaves to the night, with the tests of the packages below. One goroutine plays a long time or a large input in them, which
# shows no race. Any other test runs under the race detector.
readonly unraced=(
    TestLLMTokensRecipe TestWorkerPoolRecipe TestQueueIsLimitReq TestChangedLimits TestNeverBeyondTheLimit TestFaultsAreFound TestUtilisation # long times
    TestPipelinesAreCutByWork TestTransactionsAreBoundedByWork TestHugeAmounts TestProgramsAreBoundedByTheirMemory TestErrorsOfTranscriptsAreInTheTable # large inputs
    TestPassesAreDividedByUsers TestOtherPassesAreDivided # the same: the largest values, and every command on them
    TestBruteForce TestManyAddresses TestCachesAreNeverStale TestGCRAIsThatOfTheModel TestIncrexIsThatOfTheModel # many random inputs
    TestNoValueIsAWordOfTheGrammar TestNoTextIsAWordOfTheGrammar TestNoTextIsAWordOfTheGrammarForKuadrant # one call after the other, with every word
    TestCallsOfOneEntry TestDamagedDirectory TestPreviewOfASample # one caller again, with hundreds of inputs
    FuzzSession TestDatabasesAreLikeServers TestIntegerArguments TestQueueShapes TestAccess # one session after the other, without sockets
    TestTranscriptsOnThreeNodes # would take minutes; ./cluster has the same nodes
)
# Of ./cluster it leaves out those that reach no statement which another one does not reach (go test -coverpkg ./cluster/...), above the
# fifth of a second, and those whose subject is the amount of work.
readonly unraced_of_cluster=(
    TestNoLeapBetweenLeaders TestStatusOfTheLastSnapshot TestLeadersAreSpread TestAllowanceAndPursesAreNeverExceeded TestFailoverTime TestNothingWaitsForAName
    TestReservationsOutliveLeaders TestProcessThatIsCutOffStops TestLeaderIsRemoved TestSharedLimitIsReset
    TestWhatCannotBeCarriedOutIsRefused TestLogOperationsOfAHotKey TestLogOperationsOfAHotKeyAndItsUsers
    TestLoansOfRunningProcessesAreKept TestSharedLimits TestSharedLimitsAreTheSameOnAllNodes TestRemovedWhileCutOff TestGroupsFormAndDecideAndComeBack
    TestLoanWithoutPurse TestOtherLimitOfALentKey TestDenialsNeedTheLeader TestAllowanceIsNeverExceeded
    TestNonvoterOfSomeGroups TestNonvoterIsReplacedByHalves TestNoReplicaMovesWhileANodeIsSilent TestLoansOfEndedProcessesAreVoided
    TestReturningNodeIsSentEntriesAtOnce TestLeadersAnHourAheadAndBehind TestReasonOfALostLeadership TestUsageOutlivesLeaders
    TestTransferToNodeThatCannotLead TestSharedLimitIsDrained
)
readonly unraced_parts='^TestTranscripts$/^(session|byte_by_byte)$' # the same over sockets and TLS, and decided later, is raced
readonly unraced_packages=( # neither their files nor their tests start a goroutine, and each takes two seconds of CPU to link
    server/acl server/blocking server/config server/events server/info server/keyevents server/latency server/ratefields server/recent server/resp server/rls server/slowlog
    server/topkeys server/tracking server/transcripttest server/trial cluster/boltfile cluster/placement cluster/purses
)

# check_unraced fails if a test has another name now, or a package starts a goroutine.
check_unraced() {
    local name folder
    for name in "${unraced[@]}"; do
        grep -rqE --include='*_test.go' "^func $name\(" server cluster || fail "no package below ./server or ./cluster has the test $name, which is not to run under the race detector"
    done
    for name in "${unraced_of_cluster[@]}"; do
        grep -qE "^func $name\(" cluster/*_test.go || fail "./cluster has no test $name, which is not to run under the race detector"
    done
    for folder in "${unraced_packages[@]}"; do
        if grep -E "$starts_goroutines|AfterFunc|httptest|synctest[.]|[.]Parallel[(]" "$folder"/*.go; then fail "$folder starts a goroutine: it is to run under the race detector"; fi
    done
}

# raced prints the packages below a folder that run under the race detector.
raced() { go list "./$1/..." | grep -vE "/($(IFS='|' && echo "${unraced_packages[*]}"))\$"; }

# racing prints a pattern for the tests of a folder that start goroutines, themselves or by a function of their file. The packages
# below ./engine start none (TestEngineIsPure), so their other tests show no race.
racing() {
    awk -v starts="$starts_goroutines" '
        function flush(    name) { for (name in begins) if (name ~ /^Test/ && (begins[name] || by_helper)) print "^" name "$"; split("", begins); by_helper = 0 }
        FNR == 1 { flush() }
        /^func / { name = match($0, /^func (Test|Benchmark)[A-Za-z0-9_]*/) ? substr($0, 6, RLENGTH - 5) : ""; if (name) begins[name] = 0 }
        $0 ~ starts { if (name) begins[name] = 1; else by_helper = 1 }
        END { flush() }' "$1"/*_test.go | sort | paste -sd '|'
}

step_race() {
    check_unraced
    local -x GORACE=atexit_sleep_ms=0 # each of forty programs would wait for a second at its end
    # One processor: with more, Go 1.26 runs timers of one synctest bubble on several threads under the same race context,
    # which crashes the race detector itself. Goroutines are still interleaved and their accesses still compared. The run
    # leaves the other processors to the packages below.
    watched go test -race -cpu 1 ./cluster -faults "$(size race-faults)" -group-faults "$(size race-group-faults)" -shared-faults "$(size race-faults)" -timeout 2h -skip "^($(IFS='|' && echo "${unraced_of_cluster[*]}"))\$" &
    local nodes=$! folder others=passed bubbles unraced_tests
    mapfile -t bubbles < <(git grep -l testing/synctest -- 'server/*_test.go')
    unraced_tests="^($(IFS='|' && echo "${unraced[*]}"))\$|$unraced_parts"
    # shellcheck disable=SC2046 # packages, separated by lines
    (
        watched go test -race -cpu 1 -run "$(tests_of "${bubbles[@]}")" -skip "$unraced_tests" $(dirname "${bubbles[@]/#/./}" | sort -u)
        watched go test -race -skip "$unraced_tests|$(tests_of "${bubbles[@]}")" $(raced server)
        for folder in ./persistence ./persistence/entrylog $(grep -lE "$starts_goroutines" ./engine/*/*_test.go | xargs -n 1 dirname | sort -u); do
            watched go test -race -run "$(racing "$folder")" "$folder"
        done
        watched go test -race -cpu 1 -skip "$unraced_tests" $(raced cluster | sed '/cluster$/d; /realtest$/d')
    ) || others=failed
    wait "$nodes" # also where the others failed: nothing is left running
    [[ $others == passed ]]
}

step_clients() {
    use_server
    local module
    for module in "${client_modules[@]}"; do
        echo "-- $module"
        (cd "$module" && watched go test -race ./...)
    done
}

step_node() {
    use_server
    local log="$scratch/node.log" packed
    (
        cd clients/node
        rm -rf node_modules dist
        mkdir "$scratch/linked" # npm install of the folder brings what npm ci would, and builds
        (cd "$scratch/linked" && npm init --yes && npm install --silent "$OLDPWD" && node --input-type=module -e 'import "@stintdb/client"')
        npm run --silent lint || exit # set -e is off in a list with ||
        npm test --silent
        npm pack --silent --pack-destination "$scratch"
    ) >"$log" 2>&1 || { cat "$log"; fail "the tests of clients/node failed"; }
    (($(grep -E '^# (pass [1-9]|fail 0|skipped 0)' "$log" | sort -u | grep -c .) == 3)) || { cat "$log"; fail "clients/node: no test ran, or one was skipped"; }
    grep -E '^# (pass|killed|stopped|slow|refusing|lost)' "$log"
    packed=$(tail -n 1 "$log")
    mkdir "$scratch/installed"
    (cd "$scratch/installed" && npm init --yes && npm install --silent "$scratch/$packed") >/dev/null
    (cd "$scratch/installed" && node -e 'require("@stintdb/client").Limit.parse("1/s")' &&
        node -e 'for (const name of ["express", "fastify", "hono", "koa"]) require(`@stintdb/client/${name}`).byAddress()' &&
        node -e 'new (require("@stintdb/client/testing").FakeLimiter)()' &&
        node --input-type=module -e 'import { Limit } from "@stintdb/client"; Limit.parse("1/s")')
}

# step_python checks, tests and builds the Python client, and installs the package in an environment of its own.
step_python() {
    local bin
    bin=$(python_environment clients/python/requirements-ci.txt)
    use_server
    (
        cd clients/python
        "$bin/ruff" check .
        "$bin/ruff" format --check .
        "$bin/mypy"
        STINT="$SERVER_BINARY" "$bin/python" -m pytest -q -s --durations=10 >"$scratch/pytest.log" 2>&1 || { cat "$scratch/pytest.log"; fail "pytest failed"; }
        if grep -E '^SKIPPED|[0-9]+ skipped' "$scratch/pytest.log"; then fail "a test was skipped, which CI does not allow"; fi
        grep -E '^(killed|stopped|slow|refusing|lost), ' "$scratch/pytest.log"
        grep -E "^[0-9]+ passed" "$scratch/pytest.log"
        sed -nE 's/^([0-9.]+)s call +(.*)$/\1 s  \2 (python)/p' "$scratch/pytest.log" >>"$CI_RECORD/tests"
        "$bin/python" -m build --no-isolation --outdir "$scratch/dist" . >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log"; fail "the package does not build"; }
    )
    python3 -m venv "$scratch/clean"
    "$scratch/clean/bin/pip" install --quiet "$scratch"/dist/*.whl
    (cd "$scratch" && clean/bin/python -c 'import stint; print(stint.parse("100/minute"), "from the installed package")')
}

# step_java compiles, tests and packs the modules of clients/java, two at once: the tests of brokers wait, for spans of time. Maven
# asks its registry for nothing that is in ~/.m2.
step_java() {
    use_server
    local log="$scratch/java.log" ran
    (cd clients/java && MAVEN_OPTS="-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1" mvn --batch-mode -Dstyle.color=never -T2 clean package) >"$log" 2>&1 || { cat "$log"; fail "the tests of clients/java failed"; }
    ran=$(grep -E '^(\[[A-Z]+\] )?Tests run: [1-9].* -- in ' "$log") || fail "clients/java: no test ran"
    if grep -v 'Skipped: 0' <<<"$ran"; then fail "a test was skipped, which CI does not allow"; fi
    grep -E '^(killed|stopped|slow|refusing|lost), ' "$log" || fail "clients/java: no outage was played"
    sed -nE 's/.*Tests run: ([0-9]+),.*Time elapsed: ([0-9.]+) s -- in com.stintdb.(.*)/\2 s  \1 tests of \3 (java)/p' <<<"$ran" | tee -a "$CI_RECORD/tests"
}

# use_site has the tests of a step use one build of the site, as two versions are published, which the first such step of a run makes.
use_site() {
    export SITE="$CI_RECORD/site"
    local mike
    mike="$(python_environment packaging/site/requirements.txt)/mike"
    ( flock 9; [[ -e $SITE/index.html ]] || build_site "$mike" ) 9>"$SITE.lock"
}

# build_site has mike commit the site to a repository of its own, as .github/workflows/site.yml has it commit to the branch gh-pages.
build_site() {
    git clone --quiet --bare --shared --single-branch . "$scratch/pages.git"
    local -x GIT_DIR="$scratch/pages.git" NO_MKDOCS_2_WARNING=1 GIT_AUTHOR_NAME=ci GIT_AUTHOR_EMAIL=ci GIT_COMMITTER_NAME=ci GIT_COMMITTER_EMAIL=ci
    PATH="${1%/*}:$PATH" "$1" deploy --config-file packaging/site/mkdocs.yml --update-aliases 1.0 latest
    "$1" set-default --config-file packaging/site/mkdocs.yml latest
    mkdir -p "$SITE"
    git archive gh-pages | tar -x -C "$SITE"
}

# step_site prints the sizes of the largest files, before and after compression.
step_site() {
    local ruff file
    ruff="$(python_environment packaging/site/requirements.txt)/ruff"
    "$ruff" check --line-length 120 packaging/site
    "$ruff" format --check --line-length 120 packaging/site
    GOOS=js GOARCH=wasm go vet ./cmd/playground/...
    use_site
    for file in llms.txt llms-full.txt sitemap.xml search/search_index.json playground/index.html playground/playground.js playground/wasm_exec.js; do
        printf '%9d bytes, %8d with gzip: %s\n' "$(wc -c <"$SITE/latest/$file")" "$(gzip -c "$SITE/latest/$file" | wc -c)" "$file"
    done
    file="$SITE/latest/playground/playground.wasm.gz"
    printf '%9d bytes, %8d with gzip: the program of the playground\n' "$(gunzip -c "$file" | wc -c)" "$(wc -c <"$file")"
}

step_browser() {
    mkdir -p "$artifacts"
    use_site
    (cd server/admin/browser && SCREENSHOTS="$artifacts" watched go test ./...)
}

step_docker() { use_server && (cd docker && watched go test ./...); }

step_packaging() { use_server && (cd packaging && watched go test ./...); }

step_bench() { (cd bench && watched go test ./...); }

# The steps of the night, and the sizes that they alone have.

# step_sizes runs on all processors also those packages whose tests run on one (testsize.OneProcessor).
step_sizes() { TEST_SIZE=nightly watched go test ./... -cpu "$(nproc)" -timeout 6h; }

step_race_all() { watched go test -race ./... -cpu 1 -timeout 6h; }

# step_schedules leaves the long simulations, which have faults of their own, to the campaigns.
step_schedules() {
    use_server
    local module files
    give_way
    local -x GOFLAGS="$GOFLAGS -overlay=$scratch/schedules/overlay.json"
    for module in . clients/go; do
        mapfile -t files < <(cd "$module" && git grep -l testing/synctest -- '*_test.go' ':!bench' ':!clients')
        # shellcheck disable=SC2046 # packages, separated by lines
        (cd "$module" && watched go test -count 20 -run "$(tests_of "${files[@]}")" -skip '^TestFaults|^Test.*NeverExceeded' $(dirname "${files[@]/#/./}" | sort -u) -timeout 4h)
    done
}

# give_way makes an overlay of Go's own files, in which goroutines are queued in any order and give way at one in eight locks, channel
# operations and selects. So a test that demands an order of goroutines, or what one has done by now, fails soon.
give_way() {
    local changed="$scratch/schedules" src row file files=()
    local -r waits='/^func (chansend1|chanrecv[12]|selectgo)\(.*\{$/a giveWay()'
    src="$(go env GOROOT)/src"
    mkdir "$changed"
    for row in \
        'runtime/proc.go s/^(const randomizeScheduler =).*/\1 true/; $r /dev/stdin' "runtime/chan.go $waits" "runtime/select.go $waits" \
        'internal/sync/mutex.go /^func \(m \*Mutex\) Lock\(\) \{$/a giveWay()' 'internal/sync/runtime.go $a //go:linkname giveWay\nfunc giveWay()'; do
        file=${row%% *}
        sed -E "${row#* }" "$src/$file" >"$changed/${file//\//-}" <<-'END'
			//go:linkname giveWay internal/sync.giveWay
			func giveWay() {
				if gp := getg(); gp.m.locks == 0 && gp.m.curg == gp && cheaprand()%8 == 0 {
					Gosched()
				}
			}
		END
        if cmp --silent "$src/$file" "$changed/${file//\//-}"; then fail "this Go has another $file"; fi
        files+=("\"$src/$file\": \"$changed/${file//\//-}\"")
    done
    (IFS=, && echo "{\"Replace\": {${files[*]}}}") >"$changed/overlay.json"
}

step_groups_nodes() { watched go test -tags e2e ./cmd/stint -run TestNodesOfGroupsComeAndGo -count 5 -timeout 1h; }

step_envoys() { watched go test -tags e2e ./docs -run TestEnvoyQuotasThroughFaults -timeout 1h; }

step_envoy_gateway() { watched go test -tags e2e ./clients/compattest -run TestEnvoyGateway -envoy-gateway v1.8.0 -timeout 1h; }

step_goroutines() { watched go test -tags goroutines ./server -timeout 1h; }

step_attacks() {
    watched go test -tags e2e ./cmd/stint -timeout 1h -attack-scale 10 \
        -run 'TestFloodOfKeys|TestSlowloris|TestDeafClients|TestHugeLengths|TestReconnectStorm|TestMemoryComesBack'
}

# step_arm64 runs scripts as another processor does, and looks for products that the compiler fuses there with a sum.
step_arm64() {
    local -x GOARCH=arm64 CGO_ENABLED=0
    watched go test -exec qemu-aarch64-static ./engine/script -run 'Alike|Transcript|Replies|Price'
    watched go test -exec qemu-aarch64-static ./engine/script/elementary ./engine/algorithm ./engine/datatype ./engine/keyspace ./engine/limits
    ! go build -gcflags=-S ./engine/... ./server/command/data/... 2>&1 | grep -aE '\sFN?M(ADD|SUB)[SD]\s' | grep -v /engine/script/elementary/
}

step_targets() { (cd packaging && TEST_SIZE=nightly watched go test -run TestReleaseTargets ./...); }

step_flips() { watched go test ./cluster/raftstore -timeout 1h -run 'TestDamaged|TestEveryBit' -flips 400; }

step_allowance() { watched go test ./cluster -timeout 4h -run 'TestAllowance.*NeverExceeded' -faults 20000; }

step_crashes() { watched go test -tags e2e ./cmd/stint -timeout 1h -run Killed -crashes 200; }

step_upstream() { watched go test -tags e2e ./clients/compattest -timeout 3h -run TestUpstreamSuites -upstream all; }

step_redis_suite() { watched go test -tags e2e ./clients/compattest -timeout 1h -run TestRedisSuite -redis-suite all; }

step_figures() {
    (cd bench && go run . -quick -cell 100ms && go run . -quick -cell 100ms -only ahead,links,bucket,market) >"$scratch/bench.log" 2>&1 || { cat "$scratch/bench.log"; fail "bench -quick failed"; }
    tail -n 3 "$scratch/bench.log"
}

# build_release builds what users of a release install, from a checkout, into a folder: the second argument is the programs of Python.
build_release() {
    local from=$1 bin=$2 out=$3
    (cd "$from/packaging" && go run ./release -out "$out")
    (
        cd "$from/clients/python"
        SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) "$bin/python" -m build --no-isolation --outdir "$out" .
    ) >"$scratch/wheel.log" 2>&1 || { cat "$scratch/wheel.log"; fail "the Python package does not build"; }
    (cd "$from/clients/node" && npm ci --silent --ignore-scripts && npm pack --silent --pack-destination "$out" >/dev/null)
    (cd "$from/clients/java" && mvn --batch-mode --quiet -DskipTests clean package) >"$scratch/jars.log" 2>&1 || { cat "$scratch/jars.log"; fail "the jars do not build"; }
    mkdir "$out/jars"
    cp "$from"/clients/java/stint-*/target/*.jar "$out/jars"
    (cd "$out" && find . -type f ! -name checksums.txt -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >checksums.txt)
}

# step_release builds a release twice, here and in a clone with another path, and uses it. The parts that belong to this system are run.
step_release() {
    local bin version clean
    bin=$(python_environment clients/python/requirements-ci.txt)
    version=$(sed -n 's/^const latest = "\(.*\)"$/\1/p' cmd/stint/version.go)
    git clone --quiet --config user.name=ci --config user.email=ci@localhost . "$scratch/a clone"
    build_release "$PWD" "$bin" "$PWD/dist"
    build_release "$scratch/a clone" "$bin" "$scratch/dist"
    diff -r dist "$scratch/dist" || fail "two builds of one commit differ"
    clean=$(mktemp -d -p "$scratch")
    STINT_DOWNLOAD="file://$PWD/dist" STINT_BIN="$clean" sh dist/install.sh
    "$clean/stint" version | grep "^stint $version (commit " || fail "the archive's program is not version $version"
    python3 -m venv "$clean/python" && "$clean/python/bin/pip" install --quiet dist/*.whl && (cd "$clean" && python/bin/python -c 'import stint')
    (cd "$clean" && npm init --yes >/dev/null && npm install --silent "$OLDPWD"/dist/stintdb-client-*.tgz && node -e 'require("@stintdb/client")')
    (cd dist && sha256sum --check --quiet checksums.txt && ls -s)
    if grep -q "^## $version – not released yet" CHANGELOG.md; then # in the clone, the release is cut as it will be
        (cd packaging && go run ./release -tag -root "$scratch/a clone")
        (cd "$scratch/a clone" && go build -buildvcs=true -o "$clean/tagged" ./cmd/stint)
        "$clean/tagged" version | grep "^stint $version (commit " || fail "a build of the tag is not version $version"
    fi
    install_installers
    local debian
    debian=$(debian_root)
    (cd packaging && watched go test -tags installed ./installed -dist "$OLDPWD/dist" -debian "$debian")
}

step_failover() { (cd bench && go run . -quick -only failover,failover-hot); }

# step_bare checks the commit as a stranger would: what this machine has beside Debian, and .ci/run does not install, is missing there. Of this machine it
# has the authorities of certificates, one in a file as update-ca-certificates reads them, because a network may have its own.
step_bare() {
    command -v debootstrap >/dev/null || from_debian debootstrap
    local bare="$scratch/bare" authorities=/etc/ssl/certs/ca-certificates.crt
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$bare" >"$scratch/debootstrap.log" || fail "debootstrap failed: $(tail -n 50 "$scratch/debootstrap.log")"
    csplit --quiet --elide-empty-files --prefix="$bare/usr/local/share/ca-certificates/" --suffix-format=%04d.crt $authorities '/BEGIN CERTIFICATE/' '{*}'
    git clone --quiet . "$bare/root/stint"
    cp /etc/resolv.conf /etc/hosts "$bare/etc/"
    # shellcheck disable=SC2016 # expanded inside
    unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount --rbind /dev "$1/dev" || exit
        exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin PIP_CERT="$2" NODE_EXTRA_CA_CERTS="$2" bash -c "update-ca-certificates &>/dev/null && cd /root/stint && .ci/run $3"
    ' bare "$bare" $authorities "${CI_BARE_STEPS:-}"
}
