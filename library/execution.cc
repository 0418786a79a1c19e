#include "library/execution.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/device/device.h"
#include "serialization/kernel_record_file.h"

namespace ashlar {

int DefaultThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::shared_ptr<const KernelRecord> RecordFor(const std::string& path, const PlanTarget& target,
                                              const NoteListener& note) {
  const absl::StatusOr<Device*> device = OpenDevice(target.comp_node);
  const std::string name = device.ok() ? (*device)->measured_as(target.ProcessorOn(**device)) : "";
  absl::StatusOr<KernelRecord> record =
      name.empty() ? KernelRecord() : LoadKernelRecord(path, name);
  if (record.ok()) return std::make_shared<const KernelRecord>(*std::move(record));
  if (note) note(absl::StrCat("kernels by the table: ", record.status().message()));
  return nullptr;
}

}  // namespace ashlar
