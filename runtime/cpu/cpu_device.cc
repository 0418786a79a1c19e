#include "runtime/cpu/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "graph/host_memory.h"
#include "graph/status.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device/device.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kCacheLine = 64;

// A pool of anonymous pages: zero-filled, and only allocated when touched.
class CpuMemory final : public DeviceMemory {
 public:
  CpuMemory(void* data, int64_t bytes) {
    data_ = data;
    bytes_ = bytes;
  }
  ~CpuMemory() override {
    if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
  }
};

// Larger pools use huge pages if the system has any. Otherwise, weights that stream from memory are
// delayed at the end of every small page.
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kLarge = 2 * kHugePage;

void* Map(int64_t bytes) {
  void* const data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

// Maps memory aligned to a huge page; returns null if there is no such address range.
void* MapHugePages(int64_t bytes) {
  char* const data = static_cast<char*>(Map(bytes + kHugePage));
  if (data == nullptr) return nullptr;
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % kHugePage);
  const int64_t before = past == 0 ? 0 : kHugePage - past;
  const int64_t page = sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  char* const begin = data + before;
  if (before > 0) munmap(data, static_cast<size_t>(before));
  munmap(begin + whole, static_cast<size_t>(kHugePage - before));
  madvise(begin, static_cast<size_t>(whole), MADV_HUGEPAGE);
  return begin;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(CompNode comp_node) : comp_node_(comp_node) { RegisterKernels(kernels_); }
  CompNode comp_node() const override { return comp_node_; }
  int64_t alignment() const override { return kCacheLine; }
  bool adds_quantized() const override { return true; }
  bool moves_overlapping() const override { return true; }
  const KernelRegistry& kernels() const override { return kernels_; }
  Processor processor() const override { return HostProcessor(); }
  std::string measured_as(const Processor& processor) const override {
    return absl::StrCat(HostProcessorName(), " ", processor.ToString());
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override {
    if (bytes == 0) return std::make_unique<CpuMemory>(nullptr, 0);
    void* data = bytes >= kLarge ? MapHugePages(bytes) : nullptr;
    if (data == nullptr) data = Map(bytes);
    if (data == nullptr) return NoHostMemory(comp_node_.ToString(), bytes);
    return std::make_unique<CpuMemory>(data, bytes);
  }

  void UseThreads(int threads) override { ThreadPool::Shared().Reserve(threads); }

 private:
  CompNode comp_node_;
  KernelRegistry kernels_;
};

}  // namespace

void RegisterDevice() {
  RegisterDeviceType(CompNode::Type::kCpu, [](const CompNode& node) -> absl::StatusOr<Device*> {
    if (node.device != 0 || node.stream != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("device ", node.ToString(), ": the only CPU comp node is cpu0:0"));
    }
    static CpuDevice* const device = new CpuDevice(node);
    return device;
  });
}

std::string Libraries() {
  return absl::StrCat("own kernels for baseline, neon, avx2 and avx512; here ",
                      HostProcessor().ToString());
}

}  // namespace ashlar::cpu
