#!/bin/sh
# Installs Stint @VERSION@ for this system: curl -fsSL @DOWNLOAD@/install.sh | sh
#
# The program goes to STINT_BIN, by default /usr/local/bin for root and ~/.local/bin for others. STINT_DOWNLOAD is another place of the
# archives, such as a mirror. Nothing is installed unless the archive has the SHA-256 of the release, which stands below.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# expected prints the SHA-256 of the archive for a system and a processor.
expected() {
    case $1 in
        linux_amd64) echo @SHA256_LINUX_AMD64@ ;;
        linux_arm64) echo @SHA256_LINUX_ARM64@ ;;
        darwin_amd64) echo @SHA256_DARWIN_AMD64@ ;;
        darwin_arm64) echo @SHA256_DARWIN_ARM64@ ;;
        *) fail "there is no Stint for $1; build it: go install github.com/stintdb/stint/cmd/stint@v@VERSION@" ;;
    esac
}

target() {
    system=$(uname -s | tr '[:upper:]' '[:lower:]')
    processor=$(uname -m)
    case $processor in
        x86_64) processor=amd64 ;;
        aarch64) processor=arm64 ;;
    esac
    echo "${system}_$processor"
}

download() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1"
    else
        fail "it needs curl or wget"
    fi
}

sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "it needs sha256sum or shasum"
    fi
}

# main is called by the last line, so that half a download of this script runs nothing.
main() {
    target=$(target)
    expected=$(expected "$target")
    archive="stint_@VERSION@_$target.tar.gz"
    if [ "$(id -u)" = 0 ]; then folder=/usr/local/bin; else folder=$HOME/.local/bin; fi
    folder=${STINT_BIN:-$folder}
    temporary=$(mktemp -d)
    trap 'rm -rf "$temporary"' EXIT

    download "${STINT_DOWNLOAD:-@DOWNLOAD@}/$archive" "$temporary/$archive" || fail "$archive could not be downloaded"
    got=$(sha256 "$temporary/$archive")
    [ "$got" = "$expected" ] || fail "$archive has the SHA-256 $got, not $expected: it was damaged or changed, and nothing is installed"
    tar -xzf "$temporary/$archive" -C "$temporary" stint
    mkdir -p "$folder"
    mv "$temporary/stint" "$folder/.stint.new" # in the folder, so that the next step replaces a running program at once
    mv "$folder/.stint.new" "$folder/stint"
    echo "Stint @VERSION@ is installed: $folder/stint"
    case :$PATH: in
        *":$folder:"*) ;;
        *) echo "Add $folder to your PATH to call it stint" ;;
    esac
}

main
