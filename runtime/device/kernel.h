// Kernels: they compute an operator on a device.
#ifndef ASHLAR_RUNTIME_DEVICE_KERNEL_H_
#define ASHLAR_RUNTIME_DEVICE_KERNEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/operator.h"
#include "graph/site.h"
#include "runtime/device/processor.h"

namespace ashlar {

class Stream;

// How kernels are chosen: the precision and memory that they may trade for time.
struct KernelPolicy {
  bool exact = false;           // full precision: no Winograd convolution
  bool low_workspace = false;   // no weights larger than the filter, no workspace for speed
  bool allow_tf32 = false;      // round operands of Float32 products to 10 bits of fraction
  bool all_candidates = false;  // offer all kernels that may be the fastest, not only the most
                                // likely
  // Offer all kernels that may use packed weights from a file, perhaps packed on a processor with
  // other caches.
  bool packed_before = false;

  friend bool operator==(const KernelPolicy&, const KernelPolicy&) = default;
};

// Up to this many bytes, a workspace has no influence on the order, and no kernel with less is
// searched for. The bytes do count when kernels are chosen: a plan's peak is the least that kernels
// of acceptable speed allow.
inline constexpr int64_t kNegligibleWorkspace = 4096;

// A request for kernels: an operator on tensors of given types and formats.
struct KernelRequest {
  const Operator* op = nullptr;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<bool> constant;  // by input: value known now, so it can be packed
  // By input: the 16-bit floats in which the values of a constant of Float32 are exact, so it may
  // be packed as such; Float32: none. Empty: none for any input.
  std::vector<DType> exact_in;
  // By input: its value if Operator::input_use is kHostValue, otherwise null. Not stored.
  std::vector<const HostTensor*> host_values;
  // For kernels on the host: the processor they are for; they use no other knowledge of the
  // machine.
  Processor processor;
  int threads = 1;
  KernelPolicy policy;

  // Returns the inputs as the operator sees them, with the values that it needs.
  std::vector<InputInfo> infos() const;
};

// The pointers for one execution. Inputs that are not read on the device, and outputs that are
// views of inputs, are null.
struct KernelArgs {
  absl::Span<const void* const> inputs;
  absl::Span<void* const> outputs;
  void* workspace = nullptr;  // workspace_bytes() bytes
  Stream* stream = nullptr;   // receives the kernel's work, on devices with streams

  template <typename T>
  const T* Input(int input) const {
    return static_cast<const T*>(inputs[static_cast<size_t>(input)]);
  }
  template <typename T>
  T* Output(int output) const {
    return static_cast<T*>(outputs[static_cast<size_t>(output)]);
  }
};

// The layout in which a kernel needs a constant input. Equal keys for one constant mean equal
// bytes, which are then stored once.
struct Packing {
  std::string key;
  int64_t bytes = 0;
};

// State of one kernel in one session, such as library handles. Created before the first run.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

// A kernel. Immutable after creation, shared by sessions.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Returns the implementation: "panel:avx512/4 runs", "elementwise:avx512".
  virtual std::string implementation() const = 0;
  // Returns the bytes of workspace during Run; they are part of the memory plan.
  virtual int64_t workspace_bytes() const { return 0; }
  // Returns the expected time relative to the fastest candidate for the same request that trades
  // nothing in KernelPolicy; below 1 if a trade makes it faster.
  virtual double relative_time() const { return 1.0; }
  // Returns the same without the time to read constant inputs beyond the caches, which is estimated
  // by their bytes.
  virtual double relative_arithmetic() const { return relative_time(); }
  // Returns the approximate rounding error of outputs relative to direct sums (root mean square):
  // algorithms that transform their operands round more often.
  virtual double relative_rounding() const { return 1.0; }

  // nullopt: constant input `input` is read row-major and unpacked.
  virtual std::optional<Packing> packing(int /*input*/) const { return std::nullopt; }
  virtual absl::Status Pack(int /*input*/, const HostTensor& /*value*/, void* /*packed*/) const {
    return absl::OkStatus();
  }

  virtual absl::StatusOr<std::unique_ptr<KernelState>> NewState() const {
    return std::unique_ptr<KernelState>();
  }
  // Runs the kernel. Ashlar's own code allocates nothing. On a device with streams it enqueues its
  // work and returns. If the plan made an output overwrite or contain an input, their pointers
  // overlap.
  virtual absl::Status Run(const KernelArgs& args, KernelState* state) const = 0;
};

// All kernels for a request, the fastest first; Unimplemented if there are none.
using KernelList = std::vector<std::unique_ptr<Kernel>>;
using KernelFactory = std::function<absl::StatusOr<KernelList>(const KernelRequest&)>;

// An operator whose time is estimated, perhaps before it has a kernel.
struct WorkRequest {
  const Operator& op;
  Site site;
  const Processor& processor;
  bool direct = false;  // by direct kernels: no Winograd convolution
};

// Returns the cycles that one core is busy with an operator, apart from the time to read and write
// tensors beyond its first-level cache.
using WorkFunction = double (*)(const WorkRequest&);

// The tensors that an operator's kernels take in NHWC on a device with blocks of channels.
enum class ChannelsLast : uint8_t {
  kNone,
  kImage,      // the first input alone, an image of Float32 or 8 bits
  kUnblocked,  // all, if none is blocked
  kAll,
};

// The kernels of one device, by operator type.
class KernelRegistry {
 public:
  void Register(absl::string_view type, KernelFactory factory);
  // Registers `make`, called with the operator by its class and the request, or only with the
  // request. If `dtypes` is not empty, requests with another dtype on the device are refused.
  template <typename Op, typename Make>
  void Register(const Make& make, std::vector<DType> dtypes = {},
                ChannelsLast channels_last = ChannelsLast::kNone) {
    channels_last_[std::string(Op::kType)] = channels_last;
    Register(Op::kType,
             [make, dtypes = std::move(dtypes)](
                 const KernelRequest& request) -> absl::StatusOr<KernelList> {
               if (absl::Status status = CheckDTypes(request, dtypes); !status.ok()) return status;
               if constexpr (std::is_invocable_v<Make, const Op&, const KernelRequest&>) {
                 return make(static_cast<const Op&>(*request.op), request);
               } else {
                 return make(request);
               }
             });
  }
  // Replaces each factory by change(factory).
  void ChangeEach(const std::function<KernelFactory(KernelFactory)>& change);
  // Returns null if the device has no kernel for the type.
  const KernelFactory* Find(absl::string_view type) const;
  // Returns whether kernels take the request's tensors in NHWC as they are registered.
  bool TakesChannelsLast(const KernelRequest& request) const;

  // Sets how many cycles operators of the type take; of other types, `rest` tells.
  void RegisterWork(absl::string_view type, WorkFunction work);
  void RegisterWorkOfRest(WorkFunction rest) { work_of_rest_ = rest; }
  // Returns null if nothing is known of this device's times.
  WorkFunction FindWork(absl::string_view type) const;

 private:
  // Returns Unimplemented if an input that is read on the device has none of the dtypes, unless
  // there are none.
  static absl::Status CheckDTypes(const KernelRequest& request, const std::vector<DType>& dtypes);

  std::map<std::string, KernelFactory, std::less<>> factories_;
  std::map<std::string, ChannelsLast, std::less<>> channels_last_;
  std::map<std::string, WorkFunction, std::less<>> work_;
  WorkFunction work_of_rest_ = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_KERNEL_H_
