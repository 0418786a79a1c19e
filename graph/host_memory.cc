#include "graph/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"

namespace ashlar {
namespace {

std::string MemoryThere() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return absl::StrCat("ulimit -v allows ", limit.rlim_cur, " bytes of addresses, of which ",
                        AddressesTaken(), " are taken");
  }
  const int64_t page = sysconf(_SC_PAGESIZE);
  return absl::StrCat("the machine has ", sysconf(_SC_PHYS_PAGES) * page, " bytes, ",
                      sysconf(_SC_AVPHYS_PAGES) * page, " of them free");
}

}  // namespace

int64_t AddressesTaken() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  int64_t pages = 0;
  const bool read = std::fscanf(file, "%" SCNd64, &pages) == 1;
  std::fclose(file);
  return read ? pages * sysconf(_SC_PAGESIZE) : 0;
}

absl::Status HostMemoryError(absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(absl::StrCat(message, "; ", MemoryThere()));
  status.SetPayload(kHostMemory, absl::Cord());
  return status;
}

absl::Status NoHostMemory(absl::string_view what, int64_t bytes) {
  return WithNeededBytes(
      HostMemoryError(absl::StrCat(what, ": ", bytes, " bytes of memory are not to be had")),
      bytes);
}

}  // namespace ashlar
