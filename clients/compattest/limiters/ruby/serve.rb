# The common part of the programs, each of which limits calls with one library as its users do.
#
# A program prints "uses LIBRARY VERSION". For each line "KEY CALLS" of its standard input it then makes that many calls
# with a new limiter and prints "passed N" with the number that passed, or "failed" and the reason.

ADDRESS = ARGV[0]
URL = "redis://#{ADDRESS}"
VARIATION = ARGV[1]

# Answers the lines. The block makes the limiter of a key and returns the function that makes one call.
def serve(library, name = library)
  $stdout.sync = true
  puts "uses #{name} #{release(library)}"
  $stdin.each_line do |line|
    key, calls = line.split
    call = yield key
    puts "passed #{Integer(calls).times.count { call.call }}"
  rescue StandardError => error
    puts "failed #{error.class} #{error.message.tr("\n", " ")}"
  end
end

# The first two numbers of a gem's version. Debian changes only the others in a release.
def release(library)
  Gem::Specification.find_by_name(library).version.segments.first(2).join(".")
end
