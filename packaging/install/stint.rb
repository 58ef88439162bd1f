cask "stint" do
  version "@VERSION@"

  on_macos do
    on_intel do
      sha256 "@SHA256_DARWIN_AMD64@"
      url "@DOWNLOAD@/stint_#{version}_darwin_amd64.tar.gz"
    end
    on_arm do
      sha256 "@SHA256_DARWIN_ARM64@"
      url "@DOWNLOAD@/stint_#{version}_darwin_arm64.tar.gz"
    end
  end

  on_linux do
    on_intel do
      sha256 "@SHA256_LINUX_AMD64@"
      url "@DOWNLOAD@/stint_#{version}_linux_amd64.tar.gz"
    end
    on_arm do
      sha256 "@SHA256_LINUX_ARM64@"
      url "@DOWNLOAD@/stint_#{version}_linux_arm64.tar.gz"
    end
  end

  name "Stint"
  desc "Rate limit server that speaks the Redis protocol"
  homepage "https://github.com/stintdb/stint"

  binary "stint"
  manpage "packaging/stint.1"
  bash_completion "packaging/completion/stint.bash", target: "stint"
  fish_completion "packaging/completion/stint.fish"
  zsh_completion "packaging/completion/_stint"

  # The program is not notarized by Apple: without this, macOS would refuse to start it.
  postflight do
    if OS.mac?
      system_command "/usr/bin/xattr", args: ["-dr", "com.apple.quarantine", "#{staged_path}/stint"]
    end
  end
end
