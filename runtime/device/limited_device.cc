#include "runtime/device/limited_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// A block of the real device, counted as long as it lives.
class CountedMemory final : public DeviceMemory {
 public:
  CountedMemory(std::unique_ptr<DeviceMemory> block, int64_t counted, int64_t& used)
      : block_(std::move(block)), counted_(counted), used_(used) {
    data_ = block_->data();
    bytes_ = block_->bytes();
    used_ += counted_;
  }
  ~CountedMemory() override { used_ -= counted_; }

 private:
  const std::unique_ptr<DeviceMemory> block_;
  const int64_t counted_;
  int64_t& used_;
};

}  // namespace

class LimitedDevice::Wrapper final : public Device {
 public:
  explicit Wrapper(Device& behind) : behind_(behind) {}

  CompNode comp_node() const override { return behind_.comp_node(); }
  absl::Status ready() override { return behind_.ready(); }
  int64_t alignment() const override { return behind_.alignment(); }
  int64_t arena_alignment(const Processor& processor) const override {
    return behind_.arena_alignment(processor);
  }
  int64_t tensor_alignment() const override { return behind_.tensor_alignment(); }
  Format image_format() const override { return behind_.image_format(); }
  bool reads_planes() const override { return behind_.reads_planes(); }
  bool leaves_images(DType precision, const KernelPolicy& policy) const override {
    return behind_.leaves_images(precision, policy);
  }
  bool runs_chains() const override { return behind_.runs_chains(); }
  bool adds_quantized() const override { return behind_.adds_quantized(); }
  bool moves_overlapping() const override { return behind_.moves_overlapping(); }
  const KernelRegistry& kernels() const override { return behind_.kernels(); }
  Processor processor() const override { return behind_.processor(); }
  std::string measured_as(const Processor& processor) const override {
    return behind_.measured_as(processor);
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override {
    return Counted(bytes, [&] { return behind_.Allocate(bytes); });
  }
  void UseThreads(int threads) override { behind_.UseThreads(threads); }
  bool is_host() const override { return behind_.is_host(); }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) override {
    if (!counts_staging) return behind_.AllocateStaging(bytes);
    return Counted(bytes, [&] { return behind_.AllocateStaging(bytes); });
  }
  absl::Status CopyIn(void* device, const void* host, int64_t bytes) override {
    return behind_.CopyIn(device, host, bytes);
  }
  absl::Status CopyOut(void* host, const void* device, int64_t bytes) override {
    return behind_.CopyOut(host, device, bytes);
  }
  absl::Status Fill(void* device, uint8_t pattern, int64_t bytes) override {
    return behind_.Fill(device, pattern, bytes);
  }
  absl::Status Pin(void* data, int64_t bytes) override { return behind_.Pin(data, bytes); }
  absl::Status Unpin(void* data) override { return behind_.Unpin(data); }
  bool IsPinned(const void* data, int64_t bytes) const override {
    return behind_.IsPinned(data, bytes);
  }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream(const StreamUse& use) override {
    return behind_.NewStream(use);
  }
  std::optional<MemoryState> memory() override { return behind_.memory(); }
  std::vector<std::pair<std::string, std::string>> facts() override { return behind_.facts(); }

  int64_t limit = kNoLimit, granularity = 1;
  bool counts_staging = true;
  int64_t used = 0;

 private:
  template <typename Allocate>
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Counted(int64_t bytes, const Allocate& allocate) {
    const int64_t counted = RoundUp(bytes, granularity);
    if (counted > limit - used) {
      return absl::ResourceExhaustedError(absl::StrCat("device ", comp_node().ToString(), ": ",
                                                       counted, " bytes asked for; of ", limit,
                                                       " bytes, the limit, ", used, " are taken"));
    }
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> block, allocate());
    return std::make_unique<CountedMemory>(std::move(block), counted, used);
  }

  Device& behind_;
};

LimitedDevice::LimitedDevice(Device& behind) : wrapper_(std::make_unique<Wrapper>(behind)) {
  const CompNode comp_node = behind.comp_node();
  // Other devices of the type are opened as before.
  const auto others = std::make_shared<DeviceOpener>();
  *others = RegisterDeviceType(comp_node.type,
                               [comp_node, others, device = wrapper_.get()](
                                   const CompNode& wanted) -> absl::StatusOr<Device*> {
                                 return wanted == comp_node ? device : (*others)(wanted);
                               });
  before_ = *others;
}

absl::StatusOr<std::unique_ptr<LimitedDevice>> LimitedDevice::Install(const CompNode& comp_node) {
  ASHLAR_ASSIGN_OR_RETURN(Device* const behind, OpenDevice(comp_node));
  return std::unique_ptr<LimitedDevice>(new LimitedDevice(*behind));
}

LimitedDevice::~LimitedDevice() {
  RegisterDeviceType(wrapper_->comp_node().type, std::move(before_));
}

Device& LimitedDevice::device() { return *wrapper_; }
void LimitedDevice::SetLimit(int64_t bytes, int64_t granularity, bool staging) {
  wrapper_->limit = bytes;
  wrapper_->granularity = granularity;
  wrapper_->counts_staging = staging;
}
int64_t LimitedDevice::used() const { return wrapper_->used; }

}  // namespace ashlar
