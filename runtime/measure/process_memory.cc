#include "runtime/measure/process_memory.h"

#include <malloc.h>

#include <cinttypes>
#include <cstdio>

namespace ashlar {

ResidentSet ReadResidentSet() {
  ResidentSet result;
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return result;
  char line[256];
  int64_t kib = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmRSS: %" SCNd64, &kib) == 1) result.current = kib * 1024;
    if (std::sscanf(line, "VmHWM: %" SCNd64, &kib) == 1) result.peak = kib * 1024;
  }
  std::fclose(file);
  return result;
}

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace ashlar
