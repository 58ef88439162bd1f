{
  description = "Stint @VERSION@, a rate limit server that speaks the Redis protocol";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      # The program is static: it needs no library of nixpkgs.
      archives = {
        x86_64-linux = { target = "linux_amd64"; sha256 = "@SHA256_LINUX_AMD64@"; };
        aarch64-linux = { target = "linux_arm64"; sha256 = "@SHA256_LINUX_ARM64@"; };
        x86_64-darwin = { target = "darwin_amd64"; sha256 = "@SHA256_DARWIN_AMD64@"; };
        aarch64-darwin = { target = "darwin_arm64"; sha256 = "@SHA256_DARWIN_ARM64@"; };
      };
      package = system: archive:
        let pkgs = nixpkgs.legacyPackages.${system};
        in pkgs.stdenvNoCC.mkDerivation {
          pname = "stint";
          version = "@VERSION@";
          src = pkgs.fetchurl {
            url = "@DOWNLOAD@/stint_@VERSION@_${archive.target}.tar.gz";
            inherit (archive) sha256;
          };
          sourceRoot = ".";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          installPhase = ''
            install -Dm755 stint -t $out/bin
            installManPage packaging/stint.1
            installShellCompletion packaging/completion/{_stint,stint.bash,stint.fish}
          '';
          meta = {
            description = "Rate limit server that speaks the Redis protocol";
            homepage = "https://github.com/stintdb/stint";
            license = nixpkgs.lib.licenses.asl20;
            mainProgram = "stint";
          };
        };
    in {
      packages = builtins.mapAttrs (system: archive: { default = package system archive; }) archives;
    };
}
