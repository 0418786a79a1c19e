#include "runtime/device/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace ashlar {
namespace {

constexpr int kDropLocked = 24;  // MADV_DONTNEED_LOCKED, which older headers do not have

// Calls what(address, bytes, whether it is of this library) for all segments of the program and its
// libraries that are never written: only their pages can be read again from the file.
template <typename What>
void ForCode(const What& what) {
  const auto visit = [](dl_phdr_info* object, size_t, void* context) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto own = reinterpret_cast<uint64_t>(&LetGoOfCode);
    const absl::Span<const ElfW(Phdr)> segments(object->dlpi_phdr, object->dlpi_phnum);
    const bool is_this = std::any_of(segments.begin(), segments.end(), [&](const auto& segment) {
      const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
      return segment.p_type == PT_LOAD && own >= begin && own < begin + segment.p_memsz;
    });
    for (const ElfW(Phdr) & segment : segments) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
      const uint64_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
      const uint64_t end = (object->dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
      if (end <= begin) continue;
      (*static_cast<const What*>(context))(reinterpret_cast<void*>(begin), end - begin, is_this);
    }
    return 0;
  };
  dl_iterate_phdr(visit, const_cast<What*>(&what));
}

}  // namespace

void LetGoOfCode() {
  ForCode([](void* code, size_t bytes, bool) {
    if (madvise(code, bytes, kDropLocked) != 0) madvise(code, bytes, MADV_DONTNEED);
  });
}

absl::Status LockCodeOnUse(CodeOf whose) {
  int error = 0;
  for (const bool of_this : {true, false}) {  // while the limit allows it
    if (!of_this && whose == CodeOf::kThisLibrary) break;
    ForCode([&](void* code, size_t bytes, bool is_this) {
      if (is_this != of_this) return;
      madvise(code, bytes, MADV_DONTNEED);
      madvise(code, bytes, MADV_RANDOM);
      if (mlock2(code, bytes, MLOCK_ONFAULT) == 0) return;
      error = errno;
      madvise(code, bytes, MADV_NORMAL);
    });
  }
  if (error == 0) return absl::OkStatus();
  struct rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return absl::UnavailableError(
      absl::StrCat("not all code can be locked in memory: ", std::strerror(error),
                   "; the process may lock ", limit.rlim_cur, " bytes (ulimit -l)"));
}

}  // namespace ashlar
