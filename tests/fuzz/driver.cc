// Runs a target in every build: its seeds, then mutations of them, the same ones in each run. The
// work is done in a child process, so that any kind of end is seen.
//
//   fuzz_NAME_test [--mutations N] [--first I] [FILE]...    FILE: only these
//   fuzz_NAME_test --write-seeds FOLDER
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "tests/fuzz/target.h"
#include "tests/serialization/files.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

// Instrumented code takes ten times as long, and reserves more address space than there is memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif
constexpr time_t kMostSeconds = kInstrumented ? 120 : 20;  // processor time, per file
constexpr rlim_t kMostBytes = rlim_t{4} << 30;             // address space, per process
constexpr size_t kLargestSeed = 64 << 10;

struct Arguments {
  int64_t mutations = 2000, first = 0;
  std::string write_seeds;
  std::vector<std::string> files;
};

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = kFuzzTarget.seeds();
  std::vector<std::string> paths;
  for (const std::string& folder : kFuzzTarget.folders) {
    if (!HasSharedData(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SharedData(folder))) {
      if (entry.is_regular_file() && entry.file_size() <= kLargestSeed) {
        paths.push_back(entry.path());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) seeds.push_back(ReadWholeFile(path));
  return seeds;
}

// Runs on a copy of exactly the file's size, so that a sanitizer sees reads beyond its end.
void RunOn(const std::string& file) {
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  const itimerval limit = {{}, {kMostSeconds, 0}}, none = {};
  setitimer(ITIMER_PROF, &limit, nullptr);
  kFuzzTarget.run(bytes);
  setitimer(ITIMER_PROF, &none, nullptr);
}

// Returns file number i: a seed, or a mutation of one.
std::string FileOf(int64_t i, const std::vector<std::string>& seeds) {
  const int64_t count = static_cast<int64_t>(seeds.size());
  if (i < count) return seeds[static_cast<size_t>(i)];
  std::mt19937_64 random(static_cast<uint64_t>(i));
  return Mutated(seeds[random() % seeds.size()], random);
}

int RunChild(const Arguments& arguments, const std::vector<std::string>& seeds, int64_t& at) {
  const rlimit limit = {kMostBytes, kMostBytes};
  if (!kInstrumented) setrlimit(RLIMIT_AS, &limit);
  if (!arguments.files.empty()) {
    for (const std::string& path : arguments.files) RunOn(ReadWholeFile(path));
    return 0;
  }
  const int64_t end = static_cast<int64_t>(seeds.size()) + arguments.mutations;
  for (at = arguments.first; at < end; ++at) RunOn(FileOf(at, seeds));
  return 0;
}

int Main(const Arguments& arguments) {
  const std::vector<std::string> seeds = Seeds();
  if (!arguments.write_seeds.empty()) {
    for (size_t i = 0; i < seeds.size(); ++i) {
      WriteWholeFile(arguments.write_seeds + "/" + std::to_string(i), seeds[i]);
    }
    return 0;
  }
  auto* const at = static_cast<int64_t*>(
      mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (at == MAP_FAILED) return 1;
  const pid_t child = fork();
  if (child == 0) std::exit(RunChild(arguments, seeds, *at));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    std::printf("%zu seeds and %lld mutations: none did harm\n", seeds.size(),
                static_cast<long long>(arguments.mutations));
    return 0;
  }
  const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
  std::printf("%s at file %lld of %zu seeds and what is made of them\n",
              late ? "took too long" : "ended", static_cast<long long>(*at), seeds.size());
  if (arguments.files.empty()) {
    WriteWholeFile("fuzz-failure", FileOf(*at, seeds));
    std::printf("again: --first %lld, or with the file fuzz-failure\n",
                static_cast<long long>(*at));
  }
  return 1;
}

}  // namespace
}  // namespace ashlar::testing

int main(int argc, char** argv) {
  ashlar::testing::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--mutations") {
      arguments.mutations = std::atoll(value), ++i;
    } else if (argument == "--first") {
      arguments.first = std::atoll(value), ++i;
    } else if (argument == "--write-seeds") {
      arguments.write_seeds = value, ++i;
    } else {
      arguments.files.push_back(argument);
    }
  }
  return ashlar::testing::Main(arguments);
}
